/**
 * `sluice init`: from a provider to a configuration that calls it. Asks on a terminal what no option says. The
 * provider's key is never written: the file names the variable that holds it.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { listeningUrl } from '../base/host-port.js'
import { loadConfig } from '../compose/configuration.js'
import { type Config, InvalidConfigError } from '../config/config.js'
import { listProviderModels, type ModelListing } from '../doctor/model-listing.js'
import {
  type CommandOutput,
  failCommand,
  failUsage,
  type PrintOutput,
  parseCommandArgs,
  runCommand,
  sanitizeForTerminal,
} from './command.js'
import { callerModelId, configurationText } from './init/written-file.js'

const INIT_USAGE = `usage: sluice init [options]

Writes a configuration that calls a provider. On a terminal it asks for what no option says.

  --provider NAME      openai, anthropic, ollama, vllm, or other: another server with OpenAI's API
  --base-url URL       where its API begins; needed for other
  --key-from VARIABLE  the environment variable that holds the provider's key; none for a server without one
  --model NAME         a model, as the provider calls it; may be repeated
  --file PATH          the file to write (sluice.yaml when absent); one that exists is left alone

The key itself is never written: the server reads the variable at every start.
`

interface ProviderChoice {
  readonly about: string
  readonly kind: 'openai' | 'anthropic'
  /** Null where it has to be told. */
  readonly baseUrl: string | null
  /** The variable that the provider's own clients read; null where servers are used without a key. */
  readonly keyFrom: string | null
  /** Short name in the file. */
  readonly slug: string
}

const CHOICES: Readonly<Record<string, ProviderChoice>> = {
  openai: {
    about: 'OpenAI',
    kind: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    keyFrom: 'OPENAI_API_KEY',
    slug: 'openai',
  },
  anthropic: {
    about: 'Anthropic',
    kind: 'anthropic',
    baseUrl: 'https://api.anthropic.com',
    keyFrom: 'ANTHROPIC_API_KEY',
    slug: 'anthropic',
  },
  ollama: {
    about: 'Ollama on this machine',
    kind: 'openai',
    baseUrl: 'http://127.0.0.1:11434/v1',
    keyFrom: null,
    slug: 'ollama',
  },
  vllm: {
    about: 'vLLM on this machine',
    kind: 'openai',
    baseUrl: 'http://127.0.0.1:8000/v1',
    keyFrom: null,
    slug: 'vllm',
  },
  other: {
    about: "another server or gateway with OpenAI's API",
    kind: 'openai',
    baseUrl: null,
    keyFrom: null,
    slug: 'gateway',
  },
}

/** A person who can be asked. */
export interface Terminal {
  /** Resolves with the answer, trimmed; null when the person has left. */
  readonly ask: (question: string) => Promise<string | null>
  readonly close: () => void
}

type Environment = Readonly<Record<string, string | undefined>>

interface InitPorts {
  readonly print: PrintOutput
  /** Null without a terminal. */
  readonly openTerminal: () => Terminal | null
}

/** What the file will say. */
interface Connection extends Pick<ProviderChoice, 'kind' | 'slug'> {
  readonly baseUrl: string
  /** Null for a server without a key. */
  readonly keyFrom: string | null
}

/** @returns the exit code: 0 when a file was written, 1 when it could not be, 2 when it was no command */
export function initCommand(
  args: readonly string[],
  environment: Environment,
  { print, openTerminal }: InitPorts,
): Promise<number> {
  return runCommand({ args, usage: INIT_USAGE, print }, async () => {
    const options = parseInitArgs(args)
    if (existsSync(options.file)) return failExisting(options.file)
    const terminal = openTerminal()
    try {
      const conversation = new Conversation(terminal, (text) => print(2, text))
      const connection = await chooseConnection(options, conversation)
      const listed = (): Promise<ModelListing> =>
        listProviderModels(connection, keyOf(connection, environment))
      const models =
        options.models.length > 0 ? options.models : await conversation.chooseModels(await listed())
      return writeConfiguration(options.file, connection, models, environment)
    } finally {
      terminal?.close()
    }
  })
}

type InitOptions = ReturnType<typeof parseInitArgs>

function parseInitArgs(args: readonly string[]) {
  const text = { type: 'string' } as const
  const known = {
    provider: text,
    'base-url': text,
    'key-from': text,
    model: { type: 'string', multiple: true },
    file: text,
  } as const
  const { values } = parseCommandArgs('init', args, known, false)
  return {
    provider: values.provider,
    baseUrl: values['base-url'],
    keyFrom: values['key-from'],
    models: values.model ?? [],
    file: values.file ?? 'sluice.yaml',
  }
}

function keyOf({ keyFrom }: Connection, environment: Environment): string | null {
  return keyFrom === null ? null : (environment[keyFrom] ?? '')
}

/** Null when it is a URL that an API can begin with; otherwise what is wrong. */
function urlProblem(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  return isPlain ? null : 'that must be an http or https URL without a credential'
}

function variableProblem(text: string): string | null {
  return text === 'none' || /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(text)
    ? null
    : 'that must be the name of an environment variable and not the key itself, or none'
}

function choiceProblem(text: string): string | null {
  return Object.hasOwn(CHOICES, text) ? null : `there are ${Object.keys(CHOICES).join(', ')}`
}

async function chooseConnection(options: InitOptions, conversation: Conversation): Promise<Connection> {
  const list = Object.entries(CHOICES).map(([name, { about }]) => `  ${name.padEnd(10)} ${about}\n`)
  const provider = await conversation.settle('--provider', options.provider, choiceProblem, {
    question: `${list.join('')}Which provider?`,
  })
  const { kind, slug, ...usual } = CHOICES[provider]!
  const baseUrl = await conversation.settle('--base-url', options.baseUrl, urlProblem, {
    question: 'Where does its API begin?',
    usual: usual.baseUrl,
  })
  const keyFrom = await conversation.settle('--key-from', options.keyFrom, variableProblem, {
    question: 'Which environment variable holds its key? (none for a server without one)',
    usual: usual.keyFrom ?? 'none',
  })
  return { kind, slug, baseUrl: baseUrl.replace(/\/+$/, ''), keyFrom: keyFrom === 'none' ? null : keyFrom }
}

/** So many models are shown; the others can be named. */
const SHOWN_MODELS = 40

/** Finds out what no option has said: from what is usual, or from a person. */
class Conversation {
  readonly #terminal: Terminal | null
  readonly #tell: (text: string) => void

  constructor(terminal: Terminal | null, tell: (text: string) => void) {
    this.#terminal = terminal
    this.#tell = tell
  }

  /** What the option says; without it what the person says, and without a terminal what is usual. */
  async settle(
    option: string,
    given: string | undefined,
    problemOf: (text: string) => string | null,
    { question, usual = null }: { readonly question: string; readonly usual?: string | null },
  ): Promise<string> {
    if (given !== undefined) {
      const problem = problemOf(given)
      return problem === null ? given : failUsage(`${option}: ${problem}`)
    }
    if (this.#terminal === null) return usual ?? failUsage(`without a terminal ${option} is needed`)
    for (;;) {
      const answer = (await this.#ask(usual === null ? question : `${question} [${usual}]`)) || (usual ?? '')
      const problem = problemOf(answer)
      if (problem === null) return answer
      this.#tell(`${problem}\n`)
    }
  }

  /** Names as the provider knows them, at least one. */
  async chooseModels({ ids, problem: reason }: ModelListing): Promise<readonly string[]> {
    const problem =
      reason === null ? null : `the models of the provider are not known: ${sanitizeForTerminal(reason)}`
    const told = problem === null ? `the provider has ${shortList(ids)}` : problem
    if (this.#terminal === null) return failUsage(`without a terminal --model is needed: ${told}`)
    if (problem === null) {
      this.#tell(ids.slice(0, SHOWN_MODELS).map(numberedLine).join(''))
      if (ids.length > SHOWN_MODELS) this.#tell(`  … and ${ids.length - SHOWN_MODELS} more\n`)
    } else this.#tell(`${problem}\n`)
    for (;;) {
      const answer = await this.#ask(
        problem === null ? 'Which models? (numbers or names)' : 'Which models? (names)',
      )
      const chosen = answer.split(/[\s,]+/).filter((word) => word !== '')
      const names = chosen.map((word) => (/^\d+$/.test(word) ? (ids[Number(word) - 1] ?? word) : word))
      const unknown = problem === null ? names.find((name) => !ids.includes(name)) : undefined
      if (unknown !== undefined) this.#tell(`the provider has no model ${sanitizeForTerminal(unknown)}\n`)
      else if (names.length > 0) return [...new Set(names)]
    }
  }

  async #ask(question: string): Promise<string> {
    return (await this.#terminal!.ask(question)) ?? failCommand('nothing was written')
  }
}

function numberedLine(id: string, at: number): string {
  return `${String(at + 1).padStart(3)}  ${sanitizeForTerminal(id)}\n`
}

function shortList(ids: readonly string[]): string {
  const shown = ids.slice(0, SHOWN_MODELS).map(sanitizeForTerminal).join(', ')
  return ids.length > SHOWN_MODELS ? `${shown} and ${ids.length - SHOWN_MODELS} more` : shown
}

async function writeConfiguration(
  file: string,
  connection: Connection,
  models: readonly string[],
  environment: Environment,
): Promise<CommandOutput> {
  try {
    writeFileSync(file, configurationText(connection, models), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return code === 'EEXIST' ? failExisting(file) : failCommand(`nothing was written: ${message}`)
  }
  const { config, faults } = await checkWritten(file, environment)
  const missing = connection.keyFrom !== null && !environment[connection.keyFrom] ? connection.keyFrom : null
  const others = faults.filter(({ source }) => missing === null || !source.endsWith('api_key_env'))
  const remark = others.map(({ source, problem }) => `bad setting: ${source}: ${problem}\n`).join('')
  const text = nextSteps({ file, missing, model: callerModelId(connection.slug, models[0]!), config })
  return { text, ...(remark !== '' && { remark, code: 1 }) }
}

function failExisting(file: string): never {
  return failCommand(`${file} is there already and was left alone: name another one with --file`)
}

/** All settings together with the new file. */
async function checkWritten(
  file: string,
  environment: Environment,
): Promise<{ readonly config: Config | null; readonly faults: InvalidConfigError['faults'] }> {
  try {
    return { config: await loadConfig({ ...environment, SLUICE_CONFIG: file }), faults: [] }
  } catch (error) {
    if (!(error instanceof InvalidConfigError)) throw error
    return { config: null, faults: error.faults }
  }
}

interface NextSteps {
  readonly file: string
  /** The variable that is yet to be set; null when it is. */
  readonly missing: string | null
  readonly model: string
  readonly config: Config | null
}

function nextSteps({ file, missing, model, config }: NextSteps): string {
  const url = config === null ? 'http://127.0.0.1:8080' : listeningUrl(config, config.port)
  const request = {
    model,
    stream: true,
    messages: [{ role: 'user', content: 'Say hello.' }],
  }
  return `wrote ${file}. Start the server:

${missing === null ? '' : `  export ${missing}=…\n`}  export SLUICE_CONFIG=${file}
  npx sluice

The first start prints a key; "npx sluice keys create --name NAME" makes another. With it in KEY, in a second terminal:

  curl -N ${url}/api/v1/chat/completions -H "Authorization: Bearer $KEY" \\
    --json '${JSON.stringify(request)}'
`
}
