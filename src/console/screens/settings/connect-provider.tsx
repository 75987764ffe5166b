/** How a provider is connected: what to write, where its credential goes, and the reload that takes it up. */
import { useState } from 'preact/hooks'
import { useResource } from '../../api/resource.ts'
import { Code } from '../../kit/code.tsx'
import { Select } from '../../kit/fields.tsx'
import { Field } from '../../kit/form.tsx'
import { Page, Section } from '../../kit/page.tsx'
import { to } from '../../shell/location.ts'
import { RunningConfiguration } from './running-configuration.tsx'
import { CONFIGURATION, type Configuration } from './wire.ts'

interface Choice {
  readonly slug: string
  readonly title: string
  readonly kind: 'openai' | 'anthropic'
  readonly baseUrl: string
  /** An environment variable; null for a server that asks for no key. */
  readonly keyFrom: string | null
  readonly model: string
}

const CHOICES: readonly Choice[] = [
  {
    ...{ slug: 'openai', title: 'OpenAI', kind: 'openai', baseUrl: 'https://api.openai.com/v1' },
    ...{ keyFrom: 'OPENAI_API_KEY', model: 'gpt-5-mini' },
  },
  {
    ...{ slug: 'anthropic', title: 'Anthropic', kind: 'anthropic', baseUrl: 'https://api.anthropic.com' },
    ...{ keyFrom: 'ANTHROPIC_API_KEY', model: 'claude-sonnet-4-5' },
  },
  {
    ...{ slug: 'ollama', title: 'Ollama', kind: 'openai', baseUrl: 'http://127.0.0.1:11434/v1' },
    ...{ keyFrom: null, model: 'llama3.2' },
  },
  {
    ...{ slug: 'vllm', title: 'vLLM', kind: 'openai', baseUrl: 'http://127.0.0.1:8000/v1' },
    ...{ keyFrom: null, model: 'Qwen/Qwen3-8B' },
  },
  {
    ...{ slug: 'other', title: 'Another with OpenAI’s API', kind: 'openai' },
    ...{ baseUrl: 'https://llm.example.com/v1', keyFrom: 'OTHER_API_KEY', model: 'large' },
  },
]

const UP = { href: to('settings'), title: 'Settings' }

export function ConnectProvider() {
  const running = useResource<{ data: Configuration }>(CONFIGURATION)
  const [choice, choose] = useState(CHOICES[0]!)
  const { keyFrom } = choice
  // What came later than the page would move what stands below it.
  if (!(running.data ?? running.problem)) return <Page title="Connect a provider" up={UP} />
  return (
    <Page
      title="Connect a provider"
      up={UP}
      lead="Providers and models stand in the configuration file, to be reviewed and rolled back. Credentials stay in the environment and are never shown."
    >
      <Section
        title="1. Write it into the configuration"
        lead="Into the file that SLUICE_CONFIG names; where there is none yet, save it as sluice.yaml. A model without prices is free."
      >
        <div class="fields">
          <Select
            label="Provider"
            value={choice.slug}
            options={CHOICES.map(({ slug, title }) => [slug, title])}
            onChange={(event) => choose(CHOICES.find(({ slug }) => slug === event.currentTarget.value)!)}
          />
          <Field
            label="Model, as the provider calls it"
            value={choice.model}
            onInput={(event) => choose({ ...choice, model: event.currentTarget.value })}
          />
          <Field
            label="Its address"
            type="url"
            value={choice.baseUrl}
            onInput={(event) => choose({ ...choice, baseUrl: event.currentTarget.value })}
          />
        </div>
        <Code text={fileOf(choice)} label="Copy the configuration" />
      </Section>
      <Section
        title="2. Start the server with it"
        lead={
          <>
            Once, where the file or the variable is new: the environment is read at the start.{' '}
            <code>npx sluice init</code> does the first two steps, and asks the provider for its models.
          </>
        }
      >
        <Code
          text={`${keyFrom === null ? '' : `export ${keyFrom}=…\n`}export SLUICE_CONFIG=sluice.yaml\nnpx sluice`}
          label="Copy the commands"
        />
      </Section>
      <RunningConfiguration of={running} title="3. Later changes" />
      <p>
        Then the model is among the <a href={to('models')}>models</a>, and can be asked in the{' '}
        <a href={to('playground', null, { model: idOf(choice) })}>playground</a>.
      </p>
    </Page>
  )
}

/** The name callers use: the provider's own where it names its author, otherwise one behind the provider. */
function idOf({ slug, model }: Choice): string {
  return model.includes('/') ? model : `${slug}/${model}`
}

/** What is typed stands in quotes, as JSON, which YAML reads as it is. */
function fileOf(choice: Choice): string {
  const { slug, kind, baseUrl, keyFrom, model } = choice
  return `providers:
  ${slug}:
    kind: ${kind}
    base_url: ${JSON.stringify(baseUrl)}
${keyFrom === null ? '' : `    api_key_env: ${keyFrom}\n`}models:
  ${JSON.stringify(idOf(choice))}:
    endpoints:
      - provider: ${slug}
        upstream_model: ${JSON.stringify(model)}
        prices: { prompt: "0.000001", completion: "0.000004" }   # dollars for one token: put the provider's here`
}
