/** Providers in the configuration file. */
import { z } from 'zod'
import type { ProviderConfig, ProviderTerms } from './gateway-config.js'
import {
  baseUrl,
  flag,
  headers,
  integerBetween,
  milliseconds,
  nonEmptyText,
  pageUrl,
  variableName,
} from './values.js'

const terms = {
  name: nonEmptyText(100).optional(),
  privacy_policy_url: pageUrl.optional(),
  terms_of_service_url: pageUrl.optional(),
  status_page_url: pageUrl.optional(),
  collects_data: flag.default(false),
  zero_data_retention: flag.default(false),
  breaker: flag.default(true).describe('Whether calls stay away from an endpoint while it keeps failing.'),
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
  total_ms: milliseconds.default(600_000).describe('From the begin of the call to its last byte.'),
})

const connections = z.strictObject({
  max: integerBetween(1, 65_535).default(512).describe('Most connections to the server, per worker.'),
  keep_alive_ms: milliseconds.default(60_000).describe('How long an idle connection is kept.'),
})

const server = {
  ...terms,
  api_key_env: variableName.optional().describe('Environment variable that holds the credential.'),
  headers: headers.default({}).describe('Further fixed request headers.'),
  timeouts: timeouts.prefault({}),
  connections: connections.prefault({}),
}

const openAi = z.strictObject({
  kind: z.literal('openai'),
  base_url: baseUrl.describe('Where the API begins, such as https://api.example.com/v1'),
  ...server,
})

const anthropic = z.strictObject({
  kind: z.literal('anthropic'),
  base_url: baseUrl
    .default('https://api.anthropic.com')
    .describe('Where the API begins, without the /v1/messages of its operations.'),
  ...server,
})

const simulated = z.strictObject({
  kind: z.literal('simulated'),
  ...terms,
  seed: integerBetween(0, 0xffff_ffff).default(1),
  allow_request_faults: flag.default(false).describe('Whether callers may ask for a fault with a header.'),
})

export const providerSchema = z.discriminatedUnion('kind', [openAi, anthropic, simulated], {
  error: (issue) => (issue.code === 'invalid_union' ? 'must be openai, anthropic or simulated' : undefined),
})

type ProviderFileEntry = z.output<typeof providerSchema>

/** A checked entry as configuration. `credential` reads an environment variable. */
export function toProviderConfig(
  slug: string,
  entry: ProviderFileEntry,
  credential: (variable: string) => string | undefined,
): ProviderConfig {
  const common = toProviderTerms(slug, entry)
  if (entry.kind === 'simulated') {
    return { kind: 'simulated', ...common, seed: entry.seed, allowRequestFaults: entry.allow_request_faults }
  }
  const { connect_ms, headers_ms, first_token_ms, idle_ms, total_ms } = entry.timeouts
  return {
    kind: entry.kind,
    ...common,
    baseUrl: entry.base_url,
    apiKey: entry.api_key_env === undefined ? null : (credential(entry.api_key_env) ?? null),
    headers: entry.headers,
    timeouts: {
      connectMs: connect_ms,
      headersMs: headers_ms,
      firstTokenMs: first_token_ms,
      idleMs: idle_ms,
      totalMs: total_ms,
    },
    connections: { connections: entry.connections.max, keepAliveMs: entry.connections.keep_alive_ms },
  }
}

function toProviderTerms(slug: string, entry: ProviderFileEntry): ProviderTerms {
  return {
    name: entry.name ?? slug,
    privacyPolicyUrl: entry.privacy_policy_url ?? null,
    termsOfServiceUrl: entry.terms_of_service_url ?? null,
    statusPageUrl: entry.status_page_url ?? null,
    collectsData: entry.collects_data,
    zeroDataRetention: entry.zero_data_retention,
    hasBreaker: entry.breaker,
  }
}
