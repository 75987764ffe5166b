/** The configuration under which our server is measured: the mock as its only provider. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ADMIN_ENVIRONMENT } from './calls.js'
import { MODEL_NAMES } from './mock-models.js'

/** A provider beside the mock, with models of its own. */
export interface ExtraProvider {
  readonly name: string
  readonly baseUrl: string
  readonly models: readonly string[]
}

/** Models of the mock in its messages format, under names of their own: `messages/json` for `bench/json`. */
const IN_MESSAGES = ['json', 'stream-16', 'stream-64'] as const

const PRICES = { prompt: '0.000001', completion: '0.000002' }
const CONNECTIONS = { max: 4096 }

/** The text of the configuration; JSON, which every reader of YAML takes too. */
function gatewayConfig(upstream: string, extra: readonly ExtraProvider[], tools: object): string {
  const mock: ExtraProvider = { name: 'bench', baseUrl: `${upstream}/v1`, models: MODEL_NAMES }
  const all = [mock, ...extra]
  const providers = [
    ...all.map(({ name, baseUrl }) => [
      name,
      { kind: 'openai', base_url: baseUrl, connections: CONNECTIONS },
    ]),
    ['messages', { kind: 'anthropic', base_url: upstream, connections: CONNECTIONS }],
  ]
  const model = (provider: string, upstream_model: string) => ({
    endpoints: [{ provider, upstream_model, prices: PRICES }],
  })
  const models = [
    ...all.flatMap(({ name, models: names }) => names.map((each) => [each, model(name, each)])),
    ...IN_MESSAGES.map((name) => [`messages/${name}`, model('messages', `bench/${name}`)]),
  ]
  const config = { providers: Object.fromEntries(providers), models: Object.fromEntries(models), tools }
  return `${JSON.stringify(config, null, 2)}\n`
}

/** Writes it into `folder` and returns the environment that makes our server use it. */
export function gatewayEnvironment(
  folder: string,
  upstream: string,
  extra: readonly ExtraProvider[] = [],
  tools: object = {},
): Record<string, string> {
  const file = join(folder, 'sluice.json')
  writeFileSync(file, gatewayConfig(upstream, extra, tools))
  return { SLUICE_CONFIG: file, ...ADMIN_ENVIRONMENT }
}
