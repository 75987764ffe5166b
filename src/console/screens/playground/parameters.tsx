/** With which model, in which format, by whom it is paid, and what it may use. */
import { useState } from 'preact/hooks'
import { useResource } from '../../api/resource.ts'
import { Check, numberIn, Select, TextArea } from '../../kit/fields.tsx'
import { Field, textIn } from '../../kit/form.tsx'
import { ProblemNote } from '../../kit/page.tsx'
import { moneyText, State } from '../../kit/values.tsx'
import { setQuery } from '../../shell/location.ts'
import { session } from '../../shell/session.ts'
import { otherPrices } from '../models/prices.tsx'
import { endpointsPath, type ModelWithEndpoints } from '../models/wire.ts'
import type { FormatName, Request } from './formats.ts'
import { soundOf } from './sound.ts'
import { type Model, type Terms, TOOLS } from './wire.ts'

/** What an answer of a chat may be made of. */
const ANSWERS = /text|image|audio/
const TOOL = 'tool:'
const PLUGIN = 'plugin:'

export function requestIn(fields: FormData, model: Model | undefined): Request {
  const chosen = (prefix: string): string[] =>
    [...fields.keys()].filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length))
  return {
    format: textIn(fields, 'format') as FormatName,
    model: textIn(fields, 'model'),
    system: textIn(fields, 'system'),
    temperature: numberIn(fields, 'temperature'),
    maxTokens: numberIn(fields, 'max_tokens'),
    thinking: textIn(fields, 'thinking'),
    tools: chosen(TOOL),
    plugins: chosen(PLUGIN),
    gives: model?.architecture.output_modalities.filter((each) => ANSWERS.test(each)) ?? [],
    sound: soundOf(model),
    voice: textIn(fields, 'voice'),
    prices: {
      prompt: Number(model?.pricing.prompt ?? 0),
      completion: Number(model?.pricing.completion ?? 0),
    },
    key: textIn(fields, 'paid') === 'session' ? null : textIn(fields, 'key'),
  }
}

interface ParametersProps {
  readonly models: readonly Model[]
  /** Of an address that names one, it may be no model that is listed: the server has the word. */
  readonly chosen: string | undefined
  readonly model: Model | undefined
}

export function Parameters({ models, chosen, model }: ParametersProps) {
  const ids = new Set([...models.map(({ id }) => id), ...(chosen ? [chosen] : [])])
  const who = session.value!
  const [isBySession, setBySession] = useState(who.kind === 'management')
  return (
    <div class="parameters form">
      <Select
        label="Model"
        name="model"
        value={chosen ?? ''}
        options={[...ids].map((id) => [id, id])}
        hint={model || models.length === 0 ? <Prices of={model} /> : '–'}
        onChange={(event) => setQuery({ model: event.currentTarget.value })}
      />
      <Health key={chosen} of={chosen} />
      {model?.supported_voices && (
        <Select label="Voice" name="voice" options={model.supported_voices.map((voice) => [voice, voice])} />
      )}
      <div class="pair">
        <Select
          label="Format"
          name="format"
          value="chat"
          options={[
            ['chat', 'Chat'],
            ['messages', 'Messages'],
          ]}
        />
        <Select
          label="Thinking"
          name="thinking"
          value=""
          options={[
            ['', 'as it does'],
            ['low', 'low'],
            ['medium', 'medium'],
            ['high', 'high'],
          ]}
        />
      </div>
      {who.kind === 'management' && (
        <Select
          label="Paid by"
          name="paid"
          value={isBySession ? 'session' : 'key'}
          options={[
            ['session', `${who.organization.name}, by my session`],
            ['key', 'A key or an access token'],
          ]}
          onChange={(event) => setBySession(event.currentTarget.value === 'session')}
        />
      )}
      {!isBySession && (
        <Field
          label="Key"
          name="key"
          type="password"
          hint="Kept in this page until you leave it, nowhere else."
        />
      )}
      <TextArea label="System" name="system" rows={3} isOptional />
      <div class="pair">
        <Field label="Temperature" name="temperature" type="number" min="0" max="2" step="0.1" isOptional />
        <Field label="Most tokens" name="max_tokens" type="number" min="1" step="1" isOptional />
      </div>
      <Means />
    </div>
  )
}

const MILLION = 1_000_000

/** A line of one height, whether the model is known yet or not. */
function Prices({ of }: { of: Model | undefined }) {
  if (of === undefined) return <>…</>
  const price = (text: string): string =>
    (Number(text) * MILLION).toLocaleString('en-US', { style: 'currency', currency: 'USD' })
  const others = otherPrices(of.pricing).map(([unit, dollars]) => `$${moneyText(dollars)} / ${unit}`)
  const isByTokens = Number(of.pricing.prompt) + Number(of.pricing.completion) > 0
  if (others.length > 0 && !isByTokens) return <>{others.join(', ')}</>
  return (
    <>
      A million tokens: {price(of.pricing.prompt)} in, {price(of.pricing.completion)} out
      {others.map((text) => `, ${text}`)}
    </>
  )
}

/** Who would answer, and how soon; of one height as well. */
function Health({ of }: { of: string | undefined }) {
  const { data, problem } = useResource<{ data: ModelWithEndpoints }>(of ? endpointsPath(of) : null)
  if (data === undefined) return <p class="health hint">{problem?.message ?? '…'}</p>
  const { endpoints } = data.data
  const serving = endpoints.filter(({ status }) => status === 0)
  const soonest = Math.min(...serving.flatMap(({ latency_last_30m: latency }) => latency?.p50 ?? []))
  const state = serving.length === 0 ? 'bad' : serving.length < endpoints.length ? 'attention' : 'good'
  return (
    <p class="health hint">
      <State is={state}>{`${serving.length} of ${endpoints.length} serving`}</State>
      {Number.isFinite(soonest) && ` first event after ${Math.round(soonest)} ms`}
    </p>
  )
}

/** What a request may name without saying more; an MCP server has to be described. */
function Means() {
  const { data, problem, reload } = useResource<{ readonly data: Terms }>(TOOLS)
  const { tools = [], plugins = [] } = data?.data ?? {}
  return (
    <details class="means">
      <summary>Tools and plugins</summary>
      <ProblemNote problem={problem} retry={reload} />
      <fieldset>
        <legend>Tools</legend>
        {tools
          .filter(({ name, enabled, needs }) => enabled && needs === null && name !== 'mcp')
          .map(({ name }) => (
            <Check key={name} label={name} name={TOOL + name} />
          ))}
      </fieldset>
      <fieldset>
        <legend>Plugins</legend>
        {plugins
          .filter(({ needs }) => needs === null)
          .map(({ id }) => (
            <Check key={id} label={id} name={PLUGIN + id} />
          ))}
      </fieldset>
    </details>
  )
}
