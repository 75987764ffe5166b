/** Providers in the configuration file. */
import { z } from 'zod'
import { isNeverPassed } from '../../formats/extra-members.js'
import { AUDIO_SERVICES, type AudioServiceKind } from './audio-services.js'
import { traitsOf } from './known-servers.js'
import type { EnvironmentVariables } from './references.js'
import {
  baseUrl,
  camelCased,
  flag,
  headers,
  integerBetween,
  milliseconds,
  nonEmptyText,
  orNull,
  pageUrl,
  variableName,
} from './values.js'

const terms = {
  name: orNull(nonEmptyText(100)),
  privacy_policy_url: orNull(pageUrl),
  terms_of_service_url: orNull(pageUrl),
  status_page_url: orNull(pageUrl),
  collects_data: flag.default(false),
  zero_data_retention: flag.default(false),
  breaker: flag.default(true).describe('Whether calls stay away from an endpoint while it keeps failing.'),
  caller_keys: orNull(
    flag.describe(
      'Whether organizations may bring keys of their own with this provider, so that their calls go on their own account there. When absent: where the operator has a credential with it.',
    ),
  ),
}

const timeouts = z.strictObject({
  connect_ms: milliseconds.default(5_000).describe('To make a connection, TLS included.'),
  headers_ms: milliseconds.default(120_000).describe('From the sent request to the head of the answer.'),
  first_token_ms: milliseconds.default(120_000).describe('From the head to the first byte of the body.'),
  idle_ms: milliseconds
    .default(60_000)
    .describe(
      'Between two pieces of the body. Longer than 15 000, the silence after which servers say they live.',
    ),
  total_ms: milliseconds
    .default(600_000)
    .describe('From the begin of the call to its last byte. Stands still while a slow reader holds it back.'),
})

const connections = z.strictObject({
  max: integerBetween(1, 65_535)
    .default(512)
    .describe(
      'Most connections to the server, per worker. The last tenth is for organizations that hold less than half.',
    ),
  keep_alive_ms: milliseconds
    .default(4_000)
    .describe('How long an idle connection is kept. Shorter than the server keeps it: many close after 5 s.'),
})

/** `*` is every name. */
const extraMember = z
  .string()
  .regex(/^(?:\*|[A-Za-z_][\w.-]{0,63})$/, 'must be the name of a member, or *')
  .refine(
    (name) => !isNeverPassed(name),
    'names a person, an account, state, or what the gateway itself acts on, and is never passed on',
  )

const extraMembers = z
  .array(extraMember)
  .max(256, 'must have at most 256 names')
  .optional()
  .describe(
    'Members of a request that Sluice does not know and this server takes; * for all. Those of the usual servers when absent.',
  )

const server = {
  ...terms,
  api_key_env: orNull(variableName.describe('Environment variable that holds the credential.')),
  headers: headers.default({}).describe('Further fixed request headers.'),
  timeouts: timeouts.transform(camelCased).prefault({}),
  connections: connections
    .transform(({ max, keep_alive_ms: keepAliveMs }) => ({ connections: max, keepAliveMs }))
    .prefault({}),
}

/** Kinds of media that a server cannot fetch itself. */
const inlinedMedia = (kinds: ('image' | 'video' | 'file')[]) =>
  z
    .array(z.enum(['image', 'video', 'file']))
    .default(kinds)
    .describe(
      'What requests name by an address and the server cannot fetch itself: it is fetched here and sent along.',
    )

const openAi = z.strictObject({
  kind: z.literal('openai'),
  base_url: baseUrl.describe('Where the API begins, such as https://api.example.com/v1'),
  cache_control: orNull(
    z
      .enum(['as_sent', 'as_breakpoint', 'left_out'])
      .describe(
        'What becomes of cache_control marks: sent as they are, as prompt_cache_breakpoint, or not at all. When absent: not at all to api.openai.com and Azure, which refuse them and cache by themselves; as they are to others.',
      ),
  ),
  extra_members: extraMembers,
  inline_media: inlinedMedia(['file']),
  ...server,
})

const anthropic = z.strictObject({
  kind: z.literal('anthropic'),
  base_url: baseUrl
    .default('https://api.anthropic.com')
    .describe('Where the API begins, without the /v1/messages of its operations.'),
  extra_members: extraMembers,
  inline_media: inlinedMedia([]),
  ...server,
})

function audioService<K extends AudioServiceKind>(kind: K) {
  return z
    .strictObject({
      kind: z.literal(kind),
      base_url: baseUrl
        .default(AUDIO_SERVICES[kind].origin)
        .describe('Where the API begins, without the version that its paths begin with.'),
      ...server,
    })
    .transform(camelCased)
}

const simulated = z.strictObject({
  kind: z.literal('simulated'),
  ...terms,
  seed: integerBetween(0, 0xffff_ffff).default(1),
  allow_request_faults: flag.default(false).describe('Whether callers may ask for a fault with a header.'),
})

export const providerSchema = z.discriminatedUnion(
  'kind',
  [
    openAi.transform(camelCased),
    anthropic.transform(camelCased),
    audioService('deepgram'),
    audioService('elevenlabs'),
    audioService('assemblyai'),
    simulated.transform(camelCased),
  ],
  {
    error: (issue) =>
      issue.code === 'invalid_union'
        ? 'must be openai, anthropic, deepgram, elevenlabs, assemblyai or simulated'
        : undefined,
  },
)

export type ProviderConfig = ReturnType<typeof toProviderConfig>

/** A checked entry as configuration: it holds the credential itself, and is never logged. */
export function toProviderConfig(
  slug: string,
  entry: z.output<typeof providerSchema>,
  environment: EnvironmentVariables,
) {
  if (entry.kind === 'simulated') {
    const { name, breaker: hasBreaker, callerKeys, ...rest } = entry
    const traits = traitsOf(entry.kind, '')
    return { ...rest, name: name ?? slug, hasBreaker, callerKeys: callerKeys ?? false, ...traits }
  }
  const { name, breaker: hasBreaker, apiKeyEnv, callerKeys: asked, ...rest } = entry
  const apiKey = apiKeyEnv === null ? null : (environment[apiKeyEnv] ?? null)
  const { parameters, extraMembers } = traitsOf(entry.kind, entry.baseUrl)
  const taken = ('extraMembers' in entry ? entry.extraMembers : undefined) ?? extraMembers
  // A server that asks nobody for a credential takes any: whoever brought one would be served for nothing.
  const callerKeys = asked ?? apiKey !== null
  return { ...rest, name: name ?? slug, hasBreaker, callerKeys, apiKey, parameters, extraMembers: taken }
}

/** Headers that say on whose account a call goes. */
const ACCOUNT_HEADER = /authorization|cookie|key|token|secret|organization|project|account/i

/** The entry with a caller's credential in the place of the operator's; nothing of the operator's account goes along. */
export function withCallerKey(entry: ProviderConfig, secret: string): ProviderConfig {
  if (entry.kind === 'simulated') return entry
  const headers = Object.entries(entry.headers).filter(([name]) => !ACCOUNT_HEADER.test(name))
  return { ...entry, apiKey: secret, headers: Object.fromEntries(headers) }
}
