/** What the operator has set, and the configuration on its way to the workers. */
import { z } from 'zod'
import { isoTime } from '../../base/clock.js'
import type { ConfigurationReport, ReloadAttempt } from '../../base/configuration-report.js'
import { throwFault } from '../../base/fault.js'
import { dataAnswer } from '../../http/answers.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { nameSchema } from '../../http/json-schema.js'
import { jsonReply, NO_STORE } from '../../http/reply.js'

const value = z.unknown().meta({
  description: 'As it holds; `set` or `not set` of what is secret and of parts of the file.',
})

const Setting = nameSchema(
  'Setting',
  z.object({
    name: z.string().meta({ description: 'Key in the configuration file.' }),
    variable: z
      .string()
      .nullable()
      .meta({ description: 'Environment variable; null where the file alone says it.' }),
    meaning: z.string(),
    value,
    source: z.enum(['default', 'environment', 'file', 'flag']),
    default: value,
    reload: z.boolean().meta({
      description: 'Whether a change counts from the next reload on; from the next start on otherwise.',
    }),
  }),
)

const time = z.string().meta({ format: 'date-time' })
const version = z.string().meta({
  description: 'Hash of providers, models and all else that a reload renews; credentials are no part of it.',
})

const Attempt = nameSchema(
  'ReloadAttempt',
  z.object({
    at: time,
    taken: z.boolean(),
    faults: z
      .array(
        z.object({
          source: z.string().meta({ description: 'The place: a variable, or the file and a member of it.' }),
          problem: z.string(),
        }),
      )
      .meta({ description: 'Why it was refused whole; empty when it was taken.' }),
    needs_restart: z
      .array(z.string())
      .meta({ description: 'Settings that have changed and count from the next start on.' }),
  }),
)

const Configuration = nameSchema(
  'Configuration',
  z.object({
    version,
    loaded_at: time,
    file: z
      .string()
      .nullable()
      .meta({ description: 'As `SLUICE_CONFIG` names it; null without one: then a reload changes nothing.' }),
    workers: z.array(
      z.object({
        worker: z.int().min(0),
        version: version.nullable(),
        since: time.nullable(),
      }),
    ),
    last_reload: Attempt.nullable(),
  }),
)

export interface SettingsPorts {
  /** As the answer has them. */
  readonly settings: () => readonly z.infer<typeof Setting>[]
  /** Of all workers, read again before where `reload` asks for it; null when nobody tells. */
  readonly configuration: (reload: boolean) => Promise<ConfigurationReport | null>
}

const operation = endpointGroup({ tag: 'Service', dialect: gateway, access: 'operator' })

export const settingsEndpoints = ({ settings, configuration }: SettingsPorts): Endpoint[] => [
  operation('read_settings', 'GET /api/v1/settings', {
    summary: 'List the settings, with what they mean and where each value comes from',
    replies: { 200: { description: 'Every setting', schema: dataAnswer(z.array(Setting)) } },
    handle: () => jsonReply(200, { data: settings() }, NO_STORE),
  }),
  operation('read_configuration', 'GET /api/v1/configuration', {
    summary: 'Tell which configuration the workers of this machine have',
    replies: { 200: { description: 'Versions, and the last reload', schema: dataAnswer(Configuration) } },
    faults: ['unavailable'],
    handle: async () => jsonReply(200, { data: encode(await told(configuration(false))) }, NO_STORE),
  }),
  operation('reload_configuration', 'POST /api/v1/configuration/reload', {
    summary: 'Read the configuration file again, as SIGHUP does',
    keepsRecords: true,
    replies: {
      200: {
        description: 'It was taken; `workers` tells who has it already',
        schema: dataAnswer(Configuration),
      },
    },
    faults: ['conflict', 'unavailable'],
    handle: async () => {
      const report = await told(configuration(true))
      const { faults = [] } = report.lastReload ?? {}
      if (faults.length > 0)
        throwFault('conflict', {
          note: `the configuration has ${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}; the old one goes on`,
          details: { faults },
        })
      return jsonReply(200, { data: encode(report) }, NO_STORE)
    },
  }),
]

async function told(report: Promise<ConfigurationReport | null>): Promise<ConfigurationReport> {
  return (await report) ?? throwFault('unavailable', { retryAfter: 1 })
}

function encode(report: ConfigurationReport): z.infer<typeof Configuration> {
  const { version, loadedAt, file, workers, lastReload } = report
  return {
    version,
    loaded_at: isoTime(loadedAt),
    file,
    workers: workers.map(({ since, ...each }) => ({
      ...each,
      since: since === null ? null : isoTime(since),
    })),
    last_reload: lastReload && encodeAttempt(lastReload),
  }
}

function encodeAttempt({ at, faults, needsRestart }: ReloadAttempt): z.infer<typeof Attempt> {
  return {
    at: isoTime(at),
    taken: faults.length === 0,
    faults: [...faults],
    needs_restart: [...needsRestart],
  }
}
