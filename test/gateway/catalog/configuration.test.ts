import fc from 'fast-check'
import { test } from 'tap'
import { nanosPerMillion } from '../../../src/base/money.js'
import { readGateway } from '../../../src/compose/configuration.js'
import { toPlainDecimal } from '../../../src/gateway/catalog/configuration/values.js'
import type { GatewayConfig } from '../../../src/gateway/catalog/configuration.js'
import { behaviourSchema } from '../../../src/simulator/behaviour.js'
import { BUILT_IN_MODELS } from '../../../src/simulator/built-in-models.js'

type Json = Record<string, unknown>

/** The configuration of a file that must be good. */
function good(file: Json, environment: Record<string, string> = {}): GatewayConfig {
  const { gateway, faults } = readGateway(file, environment)
  if (gateway === null) throw new Error(JSON.stringify(faults))
  return gateway
}

/** The faults of a file as `path: problem` lines. */
function faults(file: Json, environment: Record<string, string> = {}): string[] {
  return readGateway(file, environment).faults.map(({ path, problem }) => `${path}: ${problem}`)
}

const LOCAL = { kind: 'openai', base_url: 'http://127.0.0.1:9000/v1' }

function withModel(model: Json): Json {
  return { providers: { local: LOCAL }, models: { 'acme/large': model } }
}

function withEndpoint(endpoint: Json): Json {
  return withModel({ endpoints: [{ provider: 'local', ...endpoint }] })
}

function withProvider(entry: Json): Json {
  return { providers: { local: { ...LOCAL, ...entry } } }
}

function modelOf(file: Json) {
  const { models } = good(file)
  return models.find(({ id }) => id === 'acme/large')!
}

const SERVER_DEFAULTS = {
  timeouts: { connectMs: 5000, headersMs: 120_000, firstTokenMs: 120_000, idleMs: 60_000, totalMs: 600_000 },
  connections: { connections: 512, keepAliveMs: 4_000 },
}

test('a provider gets the documented defaults', async (t) => {
  const { local } = good({ providers: { local: LOCAL }, simulated_models: false }).providers
  const { extraMembers, parameters, ...entry } = local!
  t.ok(extraMembers.includes('guided_json') && parameters.includes('top_k'), 'of the usual servers')
  t.same(
    { local: entry },
    {
      local: {
        kind: 'openai',
        name: 'local',
        privacyPolicyUrl: null,
        termsOfServiceUrl: null,
        statusPageUrl: null,
        collectsData: false,
        zeroDataRetention: false,
        hasBreaker: true,
        callerKeys: false,
        baseUrl: 'http://127.0.0.1:9000/v1',
        cacheControl: null,
        inlineMedia: ['file'],
        apiKey: null,
        headers: {},
        ...SERVER_DEFAULTS,
      },
    },
  )
})

test('what a server takes beside the parameters follows from what it is, or is listed', async (t) => {
  const taken = (more: object) => {
    const { local } = good({ providers: { local: { ...LOCAL, ...more } }, simulated_models: false }).providers
    return { extra: new Set(local!.extraMembers), parameters: new Set<string>(local!.parameters) }
  }
  const openai = taken({ base_url: 'https://api.openai.com/v1' })
  t.same([...openai.extra], ['moderation', 'prompt_cache_retention'])
  for (const name of ['top_k', 'top_a', 'min_p', 'repetition_penalty', 'reasoning'])
    t.notOk(openai.parameters.has(name), name)
  t.ok(openai.parameters.has('reasoning_effort'))
  t.same(taken({ base_url: 'https://x.openai.azure.com/openai/v1' }), openai)
  t.ok(taken({ base_url: 'https://api.groq.com/openai/v1' }).extra.has('search_settings'))
  t.notOk(taken({ base_url: 'https://api.groq.com/openai/v1' }).extra.has('guided_json'))
  const theirs = taken({ kind: 'anthropic' })
  t.same([theirs.extra.size, theirs.parameters.has('seed'), theirs.parameters.has('top_k')], [0, false, true])
  t.same([...taken({ extra_members: ['a', 'b.c'] }).extra], ['a', 'b.c'])
  t.same([...taken({ extra_members: [] }).extra], [])
  t.same([...taken({ extra_members: ['*'] }).extra], ['*'])
})

test('nothing that names a person, an account, state or a duty of the gateway can be let through', async (t) => {
  const problem =
    'names a person, an account, state, or what the gateway itself acts on, and is never passed on'
  for (const name of [
    'store',
    'previous_response_id',
    'end_user',
    'workspace_id',
    'email',
    'customer_name',
    'mcpServers',
    'service_tier',
  ]) {
    const file = { providers: { local: { ...LOCAL, extra_members: ['a', name] } } }
    t.same(faults(file), [`providers.local.extra_members[1]: ${problem}`], name)
  }
})

test('everything a provider says is taken over', async (t) => {
  const entry = {
    name: 'Local server',
    base_url: 'https://API.example.com:443/v1//',
    api_key_env: 'LOCAL_API_KEY',
    headers: { 'X-Team': 'a team' },
    timeouts: { connect_ms: 1, headers_ms: 2, first_token_ms: 3, idle_ms: 4, total_ms: 5 },
    connections: { max: 6, keep_alive_ms: 7 },
    privacy_policy_url: 'https://example.com/privacy?lang=en#top',
    terms_of_service_url: 'http://example.com/terms',
    status_page_url: 'https://status.example.com',
    collects_data: true,
    zero_data_retention: true,
  }
  t.match(good(withProvider(entry), { LOCAL_API_KEY: 'secret' }).providers.local, {
    name: 'Local server',
    baseUrl: 'https://api.example.com/v1',
    apiKey: 'secret',
    headers: { 'X-Team': 'a team' },
    timeouts: { connectMs: 1, headersMs: 2, firstTokenMs: 3, idleMs: 4, totalMs: 5 },
    connections: { connections: 6, keepAliveMs: 7 },
    privacyPolicyUrl: 'https://example.com/privacy?lang=en#top',
    termsOfServiceUrl: 'http://example.com/terms',
    statusPageUrl: 'https://status.example.com',
    collectsData: true,
    zeroDataRetention: true,
  })
})

test('a model gets the documented defaults, and its endpoints inherit from it', async (t) => {
  const model = modelOf(
    withModel({ context_length: 10, max_completion_tokens: 5, endpoints: [{ provider: 'local' }] }),
  )
  t.match(model, {
    name: 'acme/large',
    description: '',
    created: 0,
    contextLength: 10,
    inputModalities: ['text'],
    outputModalities: ['text'],
    knowledgeCutoff: null,
  })
  const [endpoint] = model.endpoints
  t.match(endpoint, {
    upstreamModel: 'acme/large',
    contextLength: 10,
    maxCompletionTokens: 5,
    quantization: null,
  })
  t.same(endpoint?.pricing, { prompt: '0', completion: '0' })
  t.equal(endpoint?.supportedParameters.length, 25, 'every known parameter')
  t.equal(endpoint?.simulation, null)
})

test('what an endpoint says about itself wins over its model', async (t) => {
  const [endpoint] = modelOf(
    withModel({
      context_length: 10,
      supported_parameters: ['tools'],
      endpoints: [
        {
          provider: 'local',
          upstream_model: 'large-v1',
          context_length: 9,
          max_completion_tokens: 8,
          quantization: 'fp8',
          supported_parameters: ['stop', 'seed'],
        },
      ],
    }),
  ).endpoints
  t.match(endpoint, {
    upstreamModel: 'large-v1',
    contextLength: 9,
    maxCompletionTokens: 8,
    quantization: 'fp8',
    supportedParameters: ['stop', 'seed'],
  })
})

test('prices become integers, and stay the texts they were', async (t) => {
  const prices = {
    prompt: '0.0000025',
    completion: 0.00001,
    input_cache_read: 2.5e-7,
    input_cache_write: '0.000000000000001',
    internal_reasoning: 0,
    input_audio: '1',
    output_audio: 9,
    input_cache_write_1h: '0.000006',
    input_image_token: '0.000000002',
    request: '0.000000001',
    input_image: '0.001',
    output_image: 0.04,
    web_search: 0.01,
  }
  const [endpoint] = modelOf(withEndpoint({ prices })).endpoints
  t.match(endpoint?.prices.version, /^[0-9a-f]{8}$/)
  t.same(endpoint?.prices, {
    version: endpoint?.prices.version,
    tiers: null,
    inputCacheWrite1h: 6_000_000_000,
    inputImageToken: 2_000_000,
    outputImageToken: null,
    inputVideoToken: null,
    inputImage: 1_000_000,
    outputImage: 40_000_000,
    webSearch: 10_000_000,
    prompt: 2_500_000_000,
    completion: 10_000_000_000,
    inputCacheRead: 250_000_000,
    inputCacheWrite: 1,
    internalReasoning: 0,
    inputAudio: 1e15,
    outputAudio: 9e15,
    request: 1,
    audioSecond: null,
    inputCharacter: null,
  })
  t.same(endpoint?.pricing, {
    prompt: '0.0000025',
    completion: '0.00001',
    input_cache_read: '0.00000025',
    input_cache_write: '0.000000000000001',
    internal_reasoning: '0',
    audio: '1',
    audio_output: '9',
    input_cache_write_1h: '0.000006',
    image_token: '0.000000002',
    request: '0.000000001',
    image: '0.001',
    output_image: '0.04',
    web_search: '0.01',
  })
})

test('endpoints without prices of their own have those of the model', async (t) => {
  const endpoints = [
    { provider: 'local' },
    { provider: 'local', upstream_model: 'x', prices: { completion: 2 } },
  ]
  const model = modelOf(withModel({ prices: { prompt: 1 }, endpoints }))
  t.match(model.endpoints, [
    { prices: { prompt: 1e15, completion: 0 }, pricing: { prompt: '1', completion: '0' } },
    { prices: { prompt: 0, completion: 2e15 }, pricing: { prompt: '0', completion: '2' } },
  ])
  t.notOk('prices' in model)
})

test('a tier has the prices it names, and the others are those of all answers', async (t) => {
  const of = (prices: Json) => modelOf(withEndpoint({ prices })).endpoints[0]!
  const base = { prompt: '0.000004', completion: '0.00001', web_search: '0.01' }
  const { prices, pricing } = of({ ...base, service_tiers: { flex: { prompt: '0.000002' }, fast: {} } })
  t.same(Object.keys(prices.tiers!), ['flex', 'fast'])
  t.match(prices.tiers?.flex, { prompt: 2e9, completion: 1e10, webSearch: 1e7 })
  t.match(prices.tiers?.fast, { prompt: 4e9, completion: 1e10 })
  t.same(pricing, base)
  t.not(prices.version, of(base).prices.version, 'another list is another version')
  t.equal(of(base).prices.version, of({ ...base }).prices.version)
})

test('absent prices stay absent, so that the meter can let them fall back', async (t) => {
  const [endpoint] = modelOf(withEndpoint({ prices: { prompt: 1 } })).endpoints
  t.match(endpoint?.prices, { completion: 0, inputCacheRead: null, internalReasoning: null, request: 0 })
  t.same(endpoint?.pricing, { prompt: '1', completion: '0' })
})

test('any number a file can hold is written in digits alone, without changing it', async (t) => {
  const numbers = fc.double({ min: 0, max: 1e30, noNaN: true, noDefaultInfinity: true })
  fc.assert(
    fc.property(
      fc.oneof(
        numbers,
        fc.integer({ min: 0, max: 1e6 }).map((n) => n / 1e15),
      ),
      (value) => {
        const text = toPlainDecimal(value)
        return /^[0-9]+(\.[0-9]+)?$/.test(text) && Number(text) === value
      },
    ),
  )
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 9e6 }),
      (nanos) => nanosPerMillion(toPlainDecimal(nanos / 1e15)) === nanos,
    ),
  )
  t.pass()
})

const PRICE = 'must be dollars per token as a decimal: not negative, at most 15 places, at most 9 dollars'
const REQUEST_PRICE = 'must be dollars of one as a decimal: not negative, at most 9 places, at most 9 dollars'
const BASE = 'must be an http or https URL without user, query and fragment'
const KIND = 'must be openai, anthropic, deepgram, elevenlabs, assemblyai or simulated'
const MODEL = 'must be a name of letters, digits and . _ : / @ + ~ -, or such a beginning and a *'
const UNKNOWN = 'there is no such setting'
const NO_PROVIDER = 'names a provider that is not configured'
const FIXED = 'is a header field that may not be fixed'

/** Of an entry of `providers`. */
const BAD_PROVIDER_MEMBERS: readonly (readonly [entry: Json, path: string, problem: string])[] = [
  [{ base_url: 'ftp://host' }, 'base_url', BASE],
  [{ base_url: 'http://user:pass@host' }, 'base_url', BASE],
  [{ base_url: 'http://host/?a=1' }, 'base_url', BASE],
  [{ base_url: 'http://host/?' }, 'base_url', BASE],
  [{ base_url: 'http://host/#a' }, 'base_url', BASE],
  [{ base_url: 'host:80' }, 'base_url', BASE],
  [{ base_url: 7 }, 'base_url', 'must be text'],
  [{ api_key: 'hidden' }, 'api_key', UNKNOWN],
  [{ api_key_env: 'A-B' }, 'api_key_env', 'must be the name of an environment variable'],
  [{ api_key_env: 'UNSET' }, 'api_key_env', 'environment variable UNSET is not set'],
  [{ api_key_env: 'toString' }, 'api_key_env', 'environment variable toString is not set'],
  [{ api_key_env: 'SLUICE_API_KEY' }, 'api_key_env', 'SLUICE_API_KEY holds a credential of our callers'],
  [{ headers: { Host: 'x' } }, 'headers.Host', FIXED],
  [{ headers: { 'proxy-Authorization': 'x' } }, 'headers.proxy-Authorization', FIXED],
  [{ headers: { 'a b': 'x' } }, 'headers.a b', 'must be the name of a header field'],
  [{ headers: { a: 'x\r\nHost: y' } }, 'headers.a', 'must be printable ASCII, without outer spaces'],
  [{ headers: { 'X-A': 'x', 'x-a': 'y' } }, 'headers', 'names a header field twice'],
  [{ timeouts: { idle_ms: 0 } }, 'timeouts.idle_ms', 'must be an integer from 1 to 3600000'],
  [{ timeouts: { idle: 1 } }, 'timeouts.idle', UNKNOWN],
  [{ connections: { max: 1.5 } }, 'connections.max', 'must be an integer from 1 to 65535'],
  [{ collects_data: 'no' }, 'collects_data', 'must be true or false'],
  [
    { status_page_url: 'javascript:alert(1)' },
    'status_page_url',
    'must be an http or https URL without credentials',
  ],
]

/** Of an endpoint of a model. */
const BAD_ENDPOINT_MEMBERS: readonly (readonly [entry: Json, path: string, problem: string])[] = [
  [{ provider: 'other' }, 'provider', NO_PROVIDER],
  [{ provider: 'constructor' }, 'provider', NO_PROVIDER],
  [{ prices: { prompt: '-1' } }, 'prices.prompt', PRICE],
  [{ prices: { prompt: -1e-9 } }, 'prices.prompt', PRICE],
  [{ prices: { prompt: 1e-16 } }, 'prices.prompt', PRICE],
  [{ prices: { prompt: '1e-6' } }, 'prices.prompt', PRICE],
  [{ prices: { prompt: 10 } }, 'prices.prompt', PRICE],
  [{ prices: { prompt: Number.NaN } }, 'prices.prompt', PRICE],
  [{ prices: { prompt: true } }, 'prices.prompt', PRICE],
  [{ prices: { request: '0.0000000001' } }, 'prices.request', REQUEST_PRICE],
  [{ prices: { image: 1 } }, 'prices.image', UNKNOWN],
  [{ simulation: {} }, 'simulation', 'is for providers of kind simulated only'],
]

/** Of a model, besides its endpoints. */
const BAD_MODEL_MEMBERS: readonly (readonly [entry: Json, path: string, problem: string])[] = [
  [{ endpoints: undefined }, 'endpoints', 'is required'],
  [{ endpoints: [] }, 'endpoints', 'must hold at least one endpoint'],
  [{ endpoints: [{}] }, 'endpoints[0].provider', 'is required'],
  [
    { endpoints: [{ provider: 'local' }, { provider: 'local', upstream_model: 'acme/large' }] },
    'endpoints[1]',
    'repeats an endpoint of this model',
  ],
  [{ supported_parameters: ['stop', 'stop'] }, 'supported_parameters', 'names something twice'],
  [{ input_modalities: ['smell'] }, 'input_modalities[0]', 'must be one of text, image, file, audio, video'],
  [{ knowledge_cutoff: '2025-02-30' }, 'knowledge_cutoff', 'must be a date such as 2025-01-31'],
]

const ENDPOINTS = [{ provider: 'sim' }]

const BAD: readonly (readonly [file: Json, fault: string])[] = [
  [{ providers: [] }, 'providers: must be an object'],
  [{ providers: null }, 'providers: must be an object'],
  [{ models: 'x' }, 'models: must be an object'],
  [{ providers: { local: 1 } }, 'providers.local: must be an object'],
  [{ providers: { local: {} } }, `providers.local.kind: ${KIND}`],
  [{ providers: { local: { kind: 'azure' } } }, `providers.local.kind: ${KIND}`],
  [{ providers: { local: { kind: 'openai' } } }, 'providers.local.base_url: is required'],
  ...BAD_PROVIDER_MEMBERS.map(
    ([entry, path, problem]) => [withProvider(entry), `providers.local.${path}: ${problem}`] as const,
  ),
  ...['/large', '*large', 'a b', ':a', 'a**'].map(
    (id) => [{ models: { [id]: { endpoints: ENDPOINTS } } }, `models.${id}: ${MODEL}`] as const,
  ),
  ...BAD_MODEL_MEMBERS.map(
    ([entry, path, problem]) =>
      [
        withModel({ endpoints: [{ provider: 'local' }], ...entry }),
        `models.acme/large.${path}: ${problem}`,
      ] as const,
  ),
  ...BAD_ENDPOINT_MEMBERS.map(
    ([entry, path, problem]) =>
      [withEndpoint(entry), `models.acme/large.endpoints[0].${path}: ${problem}`] as const,
  ),
  [
    { models: { 'sim/mine': { endpoints: ENDPOINTS } } },
    'models.sim/mine: ids of sim/ are reserved, unless simulated_models is false',
  ],
  [{ providers: { sim: LOCAL } }, 'providers.sim.kind: must be simulated, unless simulated_models is false'],
  [
    { simulated_models: false, models: { 'a/b': { endpoints: ENDPOINTS } } },
    `models.a/b.endpoints[0].provider: ${NO_PROVIDER}`,
  ],
  [
    { models: { 'a/b': { endpoints: [{ provider: 'sim', simulation: { speed: 1 } }] } } },
    `models.a/b.endpoints[0].simulation.speed: ${UNKNOWN}`,
  ],
  [{ permissions: { transcription: 'anyone' } }, 'permissions.transcription: must be key or management'],
  [
    { permissions: { 'Not an operation': 'key' } },
    'permissions.Not an operation: must be the name of an operation',
  ],
  [
    { limits: { inference_body_bytes: 0 } },
    'limits.inference_body_bytes: must be an integer from 1 to 1073741824',
  ],
  [{ simulated_models: 'off' }, 'simulated_models: must be true or false'],
]

for (const [file, fault] of BAD) {
  test(`refused: ${fault}`, async (t) => {
    t.same(faults(file), [fault])
  })
}

test('all faults are found at once, those between entries too', async (t) => {
  const all = faults({
    providers: { local: { ...LOCAL, base_url: 'x' }, other: { kind: 'simulated', seed: -1, name: '' } },
    models: {
      'acme/large': {
        created: 'now',
        endpoints: [{ provider: 'nobody' }, { provider: 'local', simulation: {} }],
      },
      bad: {},
    },
    limits: { typo: 1 },
    permissions: { x: 1 },
  })
  t.equal(all.length, 9, all.join('\n'))
})

test('no fault repeats a value: it might be a secret', async (t) => {
  const secret = 'sk-canary-0123456789'
  const found = faults(
    {
      providers: {
        local: {
          ...LOCAL,
          base_url: secret,
          api_key: secret,
          headers: { a: `${secret}\n` },
          api_key_env: 'KEY',
        },
      },
      models: { 'a/b': { name: [secret], endpoints: [{ provider: secret, prices: { prompt: secret } }] } },
      permissions: { x: secret },
    },
    { KEY: `${secret}\n` },
  )
  t.ok(found.length >= 7, 'all of it was refused')
  t.notMatch(found.join('\n'), secret)
})

test('who paints for the tool has to be a model of the file that can', async (t) => {
  const painter = (model: string, more: Json = {}): string[] =>
    faults({
      ...withModel({ output_modalities: ['image'], endpoints: [{ provider: 'local' }] }),
      ...{ aliases: { artist: 'acme/large' }, tools: { image_generation: { model } } },
      ...more,
    })
  for (const model of ['acme/large', 'artist', 'sim/painter']) t.same(painter(model), [], model)
  const place = 'tools.image_generation.model'
  t.same(painter('acme/other'), [`${place}: is no model of this file`])
  t.same(painter('sim/fast'), [`${place}: names a model whose output_modalities lack image`])
  t.same(painter('sim/painter', { simulated_models: false }), [`${place}: is no model of this file`])
  const read = good({ tools: { image_generation: { model: 'sim/painter' } } })
  t.equal(read.tools.image_generation.model, 'sim/painter')
  t.equal(good({}).tools.image_generation.model, null)
})

test('the credential is read from the environment, and only where it is named', async (t) => {
  const file = { providers: { one: { ...LOCAL, api_key_env: 'ONE' }, two: LOCAL } }
  const { providers } = good(file, { ONE: 'first', TWO: 'second' })
  t.match(providers, { one: { apiKey: 'first' }, two: { apiKey: null } })
  t.notMatch(JSON.stringify(providers), 'second')
})

test('a simulated provider is there without configuration, can be tuned, and can be switched off', async (t) => {
  t.match(good({}).providers, { sim: { kind: 'simulated', seed: 1, allowRequestFaults: false } })
  const tuned = good({ providers: { sim: { kind: 'simulated', seed: 7, allow_request_faults: true } } })
  t.match(tuned.providers.sim, { seed: 7, allowRequestFaults: true })
  const { version, tools: _, ...empty } = good({ simulated_models: false })
  t.match(version, /^[0-9a-f]{12}$/)
  t.same(empty, {
    members: ['simulated_models'],
    providers: {},
    models: [],
    aliases: {},
    permissions: {},
    routing: {
      rescue: 'unanswered',
      retries: 2,
      retryWaitMs: 2500,
      retryBudget: 0.1,
      hedge: 'never',
      hedgeBudget: 0.05,
    },
    mcpServers: {},
    plugins: {
      defaults: [],
      alignment: { model: null },
      'file-parser': { ocr: null },
      moderation: { provider: null, model: null },
      'switchyard-router': { model: null },
    },
    credentials: {},
  })
  const own = good({
    simulated_models: false,
    providers: { sim: { kind: 'simulated' } },
    models: { 'sim/mine': { endpoints: [{ provider: 'sim', simulation: { tokens: { constant: 3 } } }] } },
  })
  t.same(own.models[0]?.endpoints[0]?.simulation, { tokens: { constant: 3 } })
})

test('the ready-made models are there unless they are switched off, served by the provider inside', async (t) => {
  const { models } = good({ models: { 'acme/large': { endpoints: [{ provider: 'sim' }] } } })
  for (const [id, declared] of Object.entries(BUILT_IN_MODELS)) {
    const { name, context_length: contextLength, max_completion_tokens: maxCompletionTokens } = declared
    const model = models.find((each) => each.id === id)
    t.match(model, { name, contextLength }, id)
    t.match(model?.endpoints, [{ provider: 'sim', upstreamModel: id, maxCompletionTokens }])
    t.same(model?.endpoints[0]?.simulation, behaviourSchema.parse(declared.endpoints[0].simulation))
  }
  t.equal(models.length, Object.keys(BUILT_IN_MODELS).length + 1)
  t.ok(models.some(({ id }) => id === 'sim/instant'))
})

test('the configuration is plain data that nobody can change', async (t) => {
  const gateway = good(withEndpoint({ prices: { prompt: 1 } }))
  t.same(JSON.parse(JSON.stringify(gateway)), gateway)
  const [endpoint] = gateway.models.at(-1)!.endpoints
  for (const value of [gateway, gateway.models, gateway.providers.local, endpoint, endpoint?.pricing]) {
    t.ok(Object.isFrozen(value))
  }
})

// ── Providers of messages ───────────────────────────────────────────────────

function anthropic(entry: object, environment: Readonly<Record<string, string>> = {}) {
  return readGateway({ providers: { theirs: { kind: 'anthropic', ...entry } } }, environment)
}

test('a provider of messages needs nothing but its kind, and gets the defaults of every server', async (t) => {
  t.match(anthropic({}).gateway?.providers.theirs, {
    kind: 'anthropic',
    name: 'theirs',
    baseUrl: 'https://api.anthropic.com',
    apiKey: null,
    headers: {},
    ...SERVER_DEFAULTS,
  })
})

test('what it says is taken over, betas and a version of the operator’s among it', async (t) => {
  const entry = {
    base_url: 'https://gateway.example.com/anthropic/',
    api_key_env: 'THEIR_KEY',
    headers: { 'anthropic-beta': 'a-1,b-2', 'anthropic-version': '2026-10-21' },
  }
  t.match(anthropic(entry, { THEIR_KEY: 'sk-ant-1' }).gateway?.providers.theirs, {
    baseUrl: 'https://gateway.example.com/anthropic',
    apiKey: 'sk-ant-1',
    headers: entry.headers,
  })
})

test('what it cannot say is told where it stands', async (t) => {
  for (const [entry, path] of [
    [{ seed: 1 }, 'providers.theirs'],
    [{ api_key_env: 'THEIR_KEY' }, 'providers.theirs.api_key_env'],
    [{ base_url: 'ftp://example.com' }, 'providers.theirs.base_url'],
    [{ headers: { authorization: 'x' } }, 'providers.theirs.headers.authorization'],
  ] as const) {
    const { faults } = anthropic(entry)
    t.equal(faults.length, 1, path)
    t.ok(faults[0]!.path.startsWith(path), faults[0]!.path)
  }
})

test('only simulated endpoints have a behaviour, and the provider inside cannot be one of messages', async (t) => {
  const model = { endpoints: [{ provider: 'theirs', simulation: {} }] }
  const endpoint = readGateway({ providers: { theirs: { kind: 'anthropic' } }, models: { 'a/b': model } }, {})
  t.match(endpoint.faults, [{ path: 'models.a/b.endpoints[0].simulation' }])
  const inside = readGateway({ providers: { sim: { kind: 'anthropic' } } }, {})
  t.match(inside.faults, [{ path: 'providers.sim.kind' }])
})
