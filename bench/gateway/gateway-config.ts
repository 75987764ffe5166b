/** The configuration under which our server is measured: the mock as its only provider. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { API_KEY, MANAGEMENT_KEY } from './calls.js'
import { MODEL_NAMES } from './mock-models.js'

/** A provider beside the mock, with models of its own. */
export interface ExtraProvider {
  readonly name: string
  readonly baseUrl: string
  readonly models: readonly string[]
}

const PRICES = { prompt: '0.000001', completion: '0.000002' }
const CONNECTIONS = { max: 4096 }

/** The text of the configuration; JSON, which every reader of YAML takes too. */
export function gatewayConfig(upstream: string, extra: readonly ExtraProvider[] = []): string {
  const mock: ExtraProvider = { name: 'bench', baseUrl: `${upstream}/v1`, models: MODEL_NAMES }
  const all = [mock, ...extra]
  const providers = all.map(({ name, baseUrl }) => [
    name,
    { kind: 'openai', base_url: baseUrl, connections: CONNECTIONS },
  ])
  const models = all.flatMap(({ name, models: names }) =>
    names.map((model) => [model, { endpoints: [{ provider: name, upstream_model: model, prices: PRICES }] }]),
  )
  const config = { providers: Object.fromEntries(providers), models: Object.fromEntries(models) }
  return `${JSON.stringify(config, null, 2)}\n`
}

/** Writes it into `folder` and returns the environment that makes our server use it. */
export function gatewayEnvironment(
  folder: string,
  upstream: string,
  extra: readonly ExtraProvider[] = [],
): Record<string, string> {
  const file = join(folder, 'sluice.json')
  writeFileSync(file, gatewayConfig(upstream, extra))
  return { SLUICE_CONFIG: file, SLUICE_API_KEY: API_KEY, SLUICE_MANAGEMENT_KEY: MANAGEMENT_KEY }
}
