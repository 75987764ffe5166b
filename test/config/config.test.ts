import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { loadConfig } from '../../src/compose/configuration.js'
import { InvalidConfigError, SETTINGS, settingsNeedingRestart } from '../../src/config/config.js'
import { tempFolder } from '../support/data/temp-folder.js'

type Name = keyof typeof SETTINGS

/** The faults of an environment as `source: problem` lines; none when it is good. */
async function faults(environment: Readonly<Record<string, string>>): Promise<string[]> {
  try {
    await loadConfig(environment)
    return []
  } catch (error) {
    if (!(error instanceof InvalidConfigError)) throw error
    return error.faults.map(({ source, problem }) => `${source}: ${problem}`)
  }
}

function fileWith(t: Test, text: string, name = 'sluice.yaml'): string {
  const path = join(tempFolder(t), name)
  writeFileSync(path, text)
  return path
}

test('without any setting the defaults hold, and nothing can change them', async (t) => {
  const config = await loadConfig({ PATH: '/bin', HOME: '/root' })
  for (const [name, setting] of Object.entries(SETTINGS)) t.equal(config[name as Name], setting.default, name)
  t.match(config, { host: '127.0.0.1', port: 8080, workers: 'auto', poolThreads: 'auto', dataDir: './data' })
  t.match(config, { logLevel: 'info', seedItems: 0, hashSalt: 'load-test', bodyLimit: 65_536 })
  t.ok(Object.isFrozen(config))
})

interface Good {
  readonly name: Name
  /** As an environment variable. */
  readonly env: string
  /** As a value of the file. */
  readonly file: unknown
  readonly value: unknown
}

const GOOD: readonly Good[] = [
  { name: 'host', env: '::', file: '0.0.0.0', value: undefined },
  { name: 'port', env: '0', file: 65_535, value: undefined },
  { name: 'workers', env: 'auto', file: 'auto', value: 'auto' },
  { name: 'workers', env: '3', file: 3, value: 3 },
  { name: 'poolThreads', env: '256', file: 256, value: 256 },
  { name: 'dataDir', env: '/var/lib/x', file: '/var/lib/x', value: '/var/lib/x' },
  { name: 'databaseConnections', env: '2', file: 1000, value: undefined },
  { name: 'machine', env: 'sluice-0.example', file: 'A', value: undefined },
  { name: 'fleetStalenessMs', env: '2000', file: 2000, value: 2000 },
  { name: 'fleetWhenStoreIsAway', env: 'serve', file: 'serve', value: 'serve' },
  { name: 'fleetJournalBytes', env: '67108864', file: 67_108_865, value: undefined },
  { name: 'console', env: 'off', file: true, value: undefined },
  { name: 'consoleListen', env: '127.0.0.1:8082', file: '[::1]:8082', value: undefined },
  { name: 'logLevel', env: 'silent', file: 'silent', value: 'silent' },
  ...(['none', 'failures', 'all'] as const).map((each) => ({
    ...{ name: 'logCalls' as const, env: each, file: each, value: each },
  })),
  { name: 'native', env: 'newer', file: 'newer', value: 'newer' },
  { name: 'seedItems', env: '10000000', file: 10_000_000, value: 10_000_000 },
  { name: 'corsOrigins', env: 'https://a, https://b,,', file: ['https://a', 'https://b'], value: undefined },
  { name: 'corsOrigins', env: '*', file: '*', value: ['*'] },
  { name: 'bodyLimit', env: '1', file: 1, value: 1 },
  { name: 'bodyMemory', env: '16777216', file: 16_777_216, value: 16_777_216 },
  { name: 'callDeadlineMs', env: '100', file: 100, value: 100 },
  { name: 'drainDeadlineMs', env: '0', file: 0, value: 0 },
  { name: 'workerSilenceMs', env: '1000', file: 1000, value: 1000 },
  { name: 'maxInFlight', env: '1', file: 1, value: 1 },
  { name: 'maxConnections', env: '1', file: 1, value: 1 },
  { name: 'itemStorageBytes', env: '0', file: 1, value: undefined },
  { name: 'fileStorageFiles', env: '0', file: 0, value: 0 },
  { name: 'fileStorageBytes', env: '9007199254740991', file: 9_007_199_254_740_991, value: undefined },
  { name: 'diskReserveBytes', env: '0', file: 0, value: 0 },
  { name: 'practice', env: 'keyed', file: 'off', value: undefined },
  { name: 'hashSalt', env: ' salt ', file: ' salt ', value: ' salt ' },
  { name: 'hashQueueRounds', env: '1', file: 1, value: 1 },
  { name: 'reportSeed', env: '4294967295', file: 4_294_967_295, value: 4_294_967_295 },
  { name: 'metrics', env: 'off', file: 'off', value: 'off' },
  { name: 'metrics', env: '[::1]:9100', file: '127.0.0.1:9100', value: undefined },
  ...['true', 'on', '1'].map((env) => ({ name: 'allowChunked' as const, env, file: true, value: true })),
  ...['false', 'off', '0'].map((env) => ({ name: 'allowChunked' as const, env, file: false, value: false })),
  {
    name: 'trustedProxies',
    env: '10.0.0.0/8,::1',
    file: ['10.0.0.0/8', '::1'],
    value: ['10.0.0.0/8', '::1'],
  },
  { name: 'publicUrl', env: 'https://llm.example.org/', file: 'https://llm.example.org', value: undefined },
  { name: 'publicUrl', env: 'http://h:81/base/', file: 'http://h:81/base', value: 'http://h:81/base' },
  { name: 'apiKey', env: 'k'.repeat(32), file: 'k'.repeat(32), value: 'k'.repeat(32) },
  { name: 'managementKey', env: '~!'.repeat(256), file: '~!'.repeat(256), value: '~!'.repeat(256) },
  { name: 'allowLoopbackIssuers', env: 'on', file: true, value: true },
  { name: 'allowLoopbackFiles', env: 'on', file: true, value: true },
  { name: 'exchangesPerMinute', env: '0', file: 0, value: 0 },
  { name: 'exchangeBurst', env: '1', file: 1, value: 1 },
  { name: 'signingKeyDays', env: '3650', file: 3650, value: 3650 },
  { name: 'ledgerDays', env: '1', file: 1, value: 1 },
  {
    name: 'otlpEndpoint',
    env: 'http://127.0.0.1:4318/',
    file: 'http://127.0.0.1:4318',
    value: 'http://127.0.0.1:4318',
  },
  { name: 'lab', env: 'on', file: 'on', value: '127.0.0.1:8081' },
  { name: 'lab', env: '[::1]:0', file: '127.0.0.1:8081', value: undefined },
  { name: 'labOpen', env: 'on', file: true, value: true },
  { name: 'labFaults', env: 'on', file: true, value: true },
  { name: 'reportDelays', env: 'log-normal 300 900', file: 'quasi', value: undefined },
]

test('every setting can come from the environment and from the file, and means the same', async (t) => {
  for (const { name, env, file, value } of GOOD) {
    const setting = SETTINGS[name]
    const fromEnvironment = (await loadConfig({ [setting.env]: env }))[name]
    if (value !== undefined) t.same(fromEnvironment, value, `${setting.env}=${env}`)
    const path = fileWith(t, JSON.stringify({ [setting.key]: file }))
    const fromFile = (await loadConfig({ SLUICE_CONFIG: path }))[name]
    if (value !== undefined) t.same(fromFile, value, `${setting.key}: ${file}`)
    else t.ok(fromFile !== undefined && fromEnvironment !== undefined)
  }
  const together = ['tlsKey', 'tlsCert', 'databaseUrl', 'sealingKeyFile']
  const untried = Object.keys(SETTINGS).filter(
    (name) => !together.includes(name) && !GOOD.some((good) => good.name === name),
  )
  t.same(untried, [], 'every setting was tried')
})

test('lists are split at commas, without spaces and empty parts', async (t) => {
  const { corsOrigins } = await loadConfig({ SLUICE_CORS_ORIGINS: ' https://a , https://b,, ' })
  t.same(corsOrigins, ['https://a', 'https://b'])
})

test('a file may be YAML or JSON; the environment wins over it; an empty variable does not', async (t) => {
  for (const text of ['port: 1234\nhost: example\n# comment\n', '{"port": 1234, "host": "example"}']) {
    const SLUICE_CONFIG = fileWith(t, text)
    t.match(await loadConfig({ SLUICE_CONFIG }), { port: 1234, host: 'example' })
    t.match(await loadConfig({ SLUICE_CONFIG, PORT: '99' }), { port: 99, host: 'example' })
    t.match(await loadConfig({ SLUICE_CONFIG, PORT: '' }), { port: 1234 })
  }
  t.match(await loadConfig({ SLUICE_CONFIG: fileWith(t, '') }), { port: 8080 }, 'an empty file sets nothing')
  t.match(await loadConfig({ SLUICE_CONFIG: '' }), { port: 8080 }, 'an empty path is no path')
})

const BAD: readonly (readonly [variable: string, text: string, problem: string])[] = [
  ['PORT', '65536', 'must be an integer from 0 to 65535'],
  ['PORT', '-1', 'must be an integer from 0 to 65535'],
  ['PORT', 'http', 'must be an integer'],
  ['PORT', '80.5', 'must be an integer'],
  ['PORT', ' 80', 'must be an integer'],
  ['PORT', '0x50', 'must be an integer'],
  ['PORT', '1e3', 'must be an integer'],
  ['PORT', '9'.repeat(400), 'must be an integer'],
  ['SLUICE_WORKERS', '0', 'must be an integer from 1 to 256'],
  ['SLUICE_WORKERS', 'many', 'must be "auto" or an integer'],
  ['SLUICE_WORKERS', '257', 'must be an integer from 1 to 256'],
  ['SLUICE_POOL_THREADS', '-1', 'must be an integer from 1 to 256'],
  ['SLUICE_DATABASE_URL', 'mysql://host/name', 'must be a URL as postgres://'],
  ['SLUICE_DATABASE_URL', 'postgres://host:5432/', 'must be a URL as postgres://'],
  ['SLUICE_DATABASE_URL', 'host=a dbname=b', 'must be a URL as postgres://'],
  ['SLUICE_DATABASE_CONNECTIONS', '1', 'must be an integer from 2'],
  ['SLUICE_MACHINE', 'two words', 'must be 1 to 63 letters'],
  ['SLUICE_MACHINE', '-a', 'must be 1 to 63 letters'],
  ['SLUICE_MACHINE', 'm'.repeat(64), 'must be 1 to 63 letters'],
  ['SLUICE_SEALING_KEY_FILE', '/no/such/key', 'must name a readable file'],
  ['SLUICE_FLEET_STALENESS_MS', '1999', 'must be an integer from 2000'],
  ['SLUICE_FLEET_WHEN_STORE_IS_AWAY', 'wait', 'must be refuse or serve'],
  ['SLUICE_LOG_LEVEL', 'loud', 'must be one of trace, debug, info, warn, error, fatal, silent'],
  ['SLUICE_LOG_CALLS', 'successes', 'must be one of none, failures, all'],
  ['SLUICE_NATIVE', 'older', 'must be auto or newer'],
  ['SLUICE_SEED_ITEMS', '10000001', 'must be an integer from 0 to 10000000'],
  ['SLUICE_BODY_LIMIT', '0', 'must be an integer from 1'],
  ['SLUICE_CALL_DEADLINE_MS', '99', 'must be an integer from 100'],
  ['SLUICE_DRAIN_DEADLINE_MS', '-5', 'must be an integer from 0'],
  ['SLUICE_WORKER_SILENCE_MS', '999', 'must be an integer from 1000'],
  ['SLUICE_MAX_IN_FLIGHT', '0', 'must be an integer from 1'],
  ['SLUICE_HASH_QUEUE_ROUNDS', '0', 'must be an integer from 1'],
  ['SLUICE_REPORT_SEED', '4294967296', 'must be an integer from 0'],
  ['SLUICE_METRICS', 'yes', 'must be "on", "off" or host:port'],
  ['SLUICE_METRICS', '9100', 'must be "on", "off" or host:port'],
  ['SLUICE_LAB', '8081', 'must be "on", "off" or host:port'],
  ['SLUICE_LAB', '127.0.0.1:65536', 'must be "on", "off" or host:port'],
  ['SLUICE_LAB_FAULTS', 'some', 'must be on or off'],
  ['SLUICE_REPORT_DELAYS', 'uniform 5', 'must be random, quasi, constant'],
  ['SLUICE_METRICS', '::1:9100', 'must be "on", "off" or host:port'],
  ['SLUICE_METRICS', '127.0.0.1:99999', 'host:port'],
  ['SLUICE_METRICS', '127.0.0.1:0', 'host:port'],
  ['SLUICE_CORS_ORIGINS', 'example.org', 'must hold origins'],
  ['SLUICE_CORS_ORIGINS', 'https://example.org/', 'must hold origins'],
  ['SLUICE_CORS_ORIGINS', 'https://example.org/path', 'must hold origins'],
  ['SLUICE_CORS_ORIGINS', 'https://*.example.org', 'must hold origins'],
  ['SLUICE_ALLOW_CHUNKED', 'yes', 'must be on or off'],
  ['SLUICE_TRUSTED_PROXIES', '10.0.0.0/33', 'must hold addresses or CIDR ranges only'],
  ['SLUICE_TRUSTED_PROXIES', '10.0.0.1,proxy', 'must hold addresses or CIDR ranges only'],
  ['SLUICE_TLS_KEY', '/no/such/key.pem', 'must name a readable file'],
  ['SLUICE_PUBLIC_URL', 'example.org', 'must be an http or https URL'],
  ['SLUICE_PUBLIC_URL', 'ftp://example.org', 'must be an http or https URL'],
  ['SLUICE_PUBLIC_URL', 'https://user@example.org', 'must be an http or https URL'],
  ['SLUICE_PUBLIC_URL', 'https://example.org/?', 'must be an http or https URL'],
  ['SLUICE_PUBLIC_URL', 'https://example.org/#a', 'must be an http or https URL'],
  ['SLUICE_API_KEY', 'k'.repeat(31), 'must be 32 to 512 printable ASCII characters without spaces'],
  ['SLUICE_API_KEY', 'k'.repeat(513), 'must be 32 to 512'],
  ['SLUICE_MANAGEMENT_KEY', 'two and thirty and more characters', 'must be 32 to 512'],
  ['SLUICE_MANAGEMENT_KEY', 'schlüssel-schlüssel-schlüssel-schlüssel', 'must be 32 to 512'],
]

for (const [variable, text, problem] of BAD) {
  test(`${variable}=${text.slice(0, 30)} is refused: ${problem}`, async (t) => {
    const found = (await faults({ [variable]: text })).filter((fault) =>
      fault.startsWith('environment variable'),
    )
    t.equal(found.length, 1)
    t.match(found[0], `environment variable ${variable}: `)
    t.match(found[0], problem)
  })
}

test('a folder is no readable file', async (t) => {
  const folder = tempFolder(t)
  t.match(await faults({ SLUICE_TLS_KEY: folder, SLUICE_TLS_CERT: folder }), [
    /SLUICE_TLS_KEY: must name a readable file/,
    /SLUICE_TLS_CERT: must name a readable file/,
  ])
})

test('a bad value of the file is named with the file and the key', async (t) => {
  const path = fileWith(t, 'port: 70000\nworkers: 1.5\nallow_chunked: "yes"\nhost:\ncors_origins: 7\n')
  const found = await faults({ SLUICE_CONFIG: path })
  for (const [key, problem] of [
    ['port', 'must be an integer from 0 to 65535'],
    ['workers', 'must be an integer from 1 to 256'],
    ['allow_chunked', 'must be on or off'],
    ['host', 'must be text'],
    ['cors_origins', 'must be a list, or text with commas'],
  ] as const) {
    t.ok(
      found.some((fault) => fault.startsWith(`${path}: ${key}: ${problem}`)),
      key,
    )
  }
  t.equal(found.length, 5)
})

test('a value of the file that the environment overrides is not looked at', async (t) => {
  const SLUICE_CONFIG = fileWith(t, 'port: nonsense')
  t.equal((await loadConfig({ SLUICE_CONFIG, PORT: '1' })).port, 1)
})

test('a setting that does not exist is refused, from either source', async (t) => {
  const path = fileWith(t, 'portt: 1\nworkers: 2\nPORT: 3')
  t.same(await faults({ SLUICE_CONFIG: path, SLUICE_WORKER: '2', SLUICE_: 'x', OTHER_THING: '1' }), [
    'environment variable SLUICE_WORKER: there is no such setting',
    'environment variable SLUICE_: there is no such setting',
    `${path}: portt: there is no such setting`,
    `${path}: PORT: there is no such setting`,
  ])
})

test('federation is strict and limited unless something else is set', async (t) => {
  const { allowLoopbackIssuers, exchangesPerMinute, exchangeBurst, signingKeyDays } = await loadConfig({})
  t.same([allowLoopbackIssuers, exchangesPerMinute, exchangeBurst, signingKeyDays], [false, 600, 100, 30])
  t.equal((await loadConfig({ SLUICE_ALLOW_LOOPBACK_ISSUERS: 'on' })).allowLoopbackIssuers, true)
  const [fault] = await faults({ SLUICE_ALLOW_LOOPBACK_ISSUERS: 'localhost' })
  t.equal(fault, 'environment variable SLUICE_ALLOW_LOOPBACK_ISSUERS: must be on or off')
})

test('items for a practice API that is switched off are refused', async (t) => {
  t.same(await faults({ SLUICE_PRACTICE: 'off', SLUICE_SEED_ITEMS: '5' }), [
    'SLUICE_SEED_ITEMS: nobody could read the items: SLUICE_PRACTICE is off',
  ])
  t.equal((await loadConfig({ SLUICE_PRACTICE: 'keyed', SLUICE_SEED_ITEMS: '5' })).seedItems, 5)
})

test('the two fixed keys must differ, and a bad one is not repeated', async (t) => {
  const SLUICE_API_KEY = 'the same key for both, of 32 and more'.replaceAll(' ', '-')
  t.same(await faults({ SLUICE_API_KEY, SLUICE_MANAGEMENT_KEY: SLUICE_API_KEY }), [
    'SLUICE_API_KEY and SLUICE_MANAGEMENT_KEY: must be two different keys',
  ])
  t.notMatch((await faults({ SLUICE_API_KEY: 'too short' })).join(), 'too short')
})

const GATEWAY_FILE = `
providers:
  local: { kind: openai, base_url: 'http://127.0.0.1:9000/v1', api_key_env: SLUICE_LOCAL_KEY }
models:
  acme/large: { endpoints: [{ provider: local }] }
`

test('the gateway part of the file is read with its credentials, whatever their variables are called', async (t) => {
  const SLUICE_CONFIG = fileWith(t, GATEWAY_FILE)
  const { gateway, limits } = await loadConfig({ SLUICE_CONFIG, SLUICE_LOCAL_KEY: 'secret' })
  t.match(gateway.providers.local, { apiKey: 'secret', baseUrl: 'http://127.0.0.1:9000/v1' })
  t.ok(gateway.models.some(({ id }) => id === 'acme/large'))
  t.same(limits, {
    inferenceBodyBytes: 20_971_520,
    inferenceDeadlineMs: 600_000,
    uploadBodyBytes: 104_857_600,
  })
})

test('a fault of the gateway part is named with the file and the path, beside all others', async (t) => {
  const path = fileWith(t, `port: x\nlimits: { body: 1 }\n${GATEWAY_FILE.replace('http:', 'ftp:')}`)
  t.same(await faults({ SLUICE_CONFIG: path }), [
    `${path}: port: must be an integer`,
    `${path}: providers.local.base_url: must be an http or https URL without user, query and fragment`,
    `${path}: limits.body: there is no such setting`,
    `${path}: providers.local.api_key_env: environment variable SLUICE_LOCAL_KEY is not set`,
  ])
})

test('the configuration survives the way to a worker, which is JSON', async (t) => {
  const config = await loadConfig({ SLUICE_CONFIG: fileWith(t, GATEWAY_FILE), SLUICE_LOCAL_KEY: 'secret' })
  t.same(JSON.parse(JSON.stringify(config)), config)
})

test('what a reload cannot change is told by its key', async (t) => {
  const before = await loadConfig({ SLUICE_CONFIG: fileWith(t, 'port: 1\nlimits: { upload_body_bytes: 1 }') })
  const after = await loadConfig({
    SLUICE_CONFIG: fileWith(t, `${GATEWAY_FILE}port: 2`),
    SLUICE_LOCAL_KEY: 'secret',
  })
  t.same(settingsNeedingRestart(before, after), ['port', 'limits'])
  t.same(settingsNeedingRestart(before, { ...before, gateway: after.gateway }), [])
})

test('machines that share a database need a sealing key, and the password of a bad URL is not repeated', async (t) => {
  const SLUICE_DATABASE_URL = 'postgres://sluice:secret@127.0.0.1/sluice'
  t.same(await faults({ SLUICE_DATABASE_URL }), [
    'SLUICE_DATABASE_URL: machines that share a PostgreSQL need the same SLUICE_SEALING_KEY_FILE',
  ])
  const SLUICE_SEALING_KEY_FILE = fileWith(t, 'k'.repeat(32))
  t.match(await loadConfig({ SLUICE_DATABASE_URL, SLUICE_SEALING_KEY_FILE }), {
    databaseUrl: SLUICE_DATABASE_URL,
    sealingKeyFile: SLUICE_SEALING_KEY_FILE,
  })
  t.notMatch((await faults({ SLUICE_DATABASE_URL: 'http://sluice:secret@127.0.0.1/' })).join(), 'secret')
})

test('TLS needs both files', async (t) => {
  const pem = fileWith(t, 'pem')
  const half = ['SLUICE_TLS_KEY and SLUICE_TLS_CERT: TLS needs both files or neither']
  t.same(await faults({ SLUICE_TLS_KEY: pem }), half)
  t.same(await faults({ SLUICE_TLS_CERT: pem }), half)
  t.same(await faults({ SLUICE_TLS_KEY: pem, SLUICE_TLS_CERT: pem }), [])
  t.same(await faults({ SLUICE_CONFIG: fileWith(t, `tls_key: ${pem}`), SLUICE_TLS_CERT: pem }), [])
})

test('what is missing because it has a fault of its own is no contradiction as well', async (t) => {
  const pem = fileWith(t, 'pem')
  const found = await faults({ SLUICE_TLS_KEY: '/nowhere/key.pem', SLUICE_TLS_CERT: pem })
  t.match(found, [/^environment variable SLUICE_TLS_KEY: must name a readable file/])
  t.equal(found.length, 1)
  const url = 'postgres://me@127.0.0.1/x'
  const sealed = await faults({ SLUICE_DATABASE_URL: url, SLUICE_SEALING_KEY_FILE: '/nowhere/sealing.key' })
  t.match(sealed, [/SLUICE_SEALING_KEY_FILE: must name a readable file/])
  t.equal(sealed.length, 1)
})

const BROKEN_FILES: Readonly<Record<string, string>> = {
  'a list': '- port: 1',
  'a text': 'port',
  'a number': '7',
}

test('a file that holds no object is refused', async (t) => {
  for (const [about, text] of Object.entries(BROKEN_FILES)) {
    const path = fileWith(t, text)
    t.same(await faults({ SLUICE_CONFIG: path }), [`${path}: must hold one object`], about)
  }
})

test('a file that cannot be read is named with the reason, in one line', async (t) => {
  const folder = tempFolder(t)
  mkdirSync(join(folder, 'folder'))
  const broken = fileWith(t, 'port: [1\nhost: "')
  const twice = fileWith(t, 'port: 1\nport: 2')
  for (const path of [join(folder, 'absent'), join(folder, 'folder'), broken, twice]) {
    const found = await faults({ SLUICE_CONFIG: path })
    t.equal(found.length, 1, path)
    t.match(found[0], `${path}: cannot be read: `)
    t.notMatch(found[0], '\n')
  }
})

const EXCESSIVE: Readonly<Record<string, string>> = {
  'a hundred thousand lists within each other': `a: ${'['.repeat(100_000)}${']'.repeat(100_000)}`,
  'a hundred thousand objects within each other': `{"a":`.repeat(100_000),
  'a hundred thousand items within each other': `a:\n  ${'- '.repeat(100_000)}x`,
  'a hundred thousand anchors of one value': `a: ${'&a '.repeat(100_000)}x`,
  'a hundred thousand tags of one value': `a: ${'!a '.repeat(100_000)}x`,
}

test('a file that is nested too deeply is refused before it is parsed', async (t) => {
  for (const [about, text] of Object.entries(EXCESSIVE)) {
    const path = fileWith(t, text)
    const [problem, ...more] = await faults({ SLUICE_CONFIG: path })
    t.match(problem, /: (opens more than 500 brackets within each other|is nested too deeply)$/, about)
    t.same(more, [])
  }
})

test('a file with very many keys is read in time', async (t) => {
  const keys = 100_000
  const path = fileWith(t, Array.from({ length: keys }, (_, n) => `k${n}: 1`).join('\n'))
  t.equal((await faults({ SLUICE_CONFIG: path })).length, keys)
})

test('a long text of signs of YAML is read in time', async (t) => {
  t.match(await faults({ SLUICE_CONFIG: fileWith(t, `port: "${'&'.repeat(500_000)}"`) }), [/port: /])
})

const SPILLING: Readonly<Record<string, RegExp>> = {
  'api_key: *canary-secret': /it is no valid YAML$/,
  'api_key: "\\canary-secret"': /bad dq escape at line 1, column 11$/,
  'api_key: [canary-secret': /at line 1, column 24$/,
  'api_key: | canary-secret': /at line 1, column 12$/,
  'canary-secret: 1\ncanary-secret: 2': /duplicate key at line 2, column 1$/,
  'api_key: !canary-secret x': /api_key: must be 32 to 512/,
}

test('a file that cannot be read is not quoted: credentials may stand in it', async (t) => {
  for (const [text, reason] of Object.entries(SPILLING)) {
    const found = (await faults({ SLUICE_CONFIG: fileWith(t, text) })).join('\n')
    t.match(found, reason, text)
    t.notMatch(found, 'canary')
  }
})

test('all faults are found at once', async (t) => {
  const path = fileWith(t, 'seed_items: -1\nnonsense: 1')
  const found = await faults({
    SLUICE_CONFIG: path,
    PORT: 'x',
    SLUICE_WORKERS: '0',
    SLUICE_LOG_LEVEL: 'loud',
    SLUICE_TLS_KEY: '/no/such/file',
    SLUICE_NONSENSE: '1',
  })
  for (const source of [
    'PORT',
    'SLUICE_WORKERS',
    'SLUICE_LOG_LEVEL',
    'SLUICE_TLS_KEY',
    'SLUICE_NONSENSE',
    'seed_items',
    'nonsense',
  ]) {
    t.ok(
      found.some((fault) => fault.includes(source)),
      source,
    )
  }
})

test('every setting has a variable, a key and a sentence, each its own', async (t) => {
  const settings = Object.values(SETTINGS)
  for (const part of ['env', 'key', 'about'] as const) {
    t.equal(new Set(settings.map((setting) => setting[part])).size, settings.length, part)
  }
  for (const { env, key, about } of settings) {
    t.match(env, /^(SLUICE_[A-Z_]+|PORT|HOST)$/)
    t.match(key, /^[a-z_]+$/)
    t.match(about, /\.$/, 'a sentence')
  }
})

test('the lab listens where other machines reach it only when that was said twice', async (t) => {
  for (const place of ['0.0.0.0:8081', '[::]:8081', 'lab.example:8081', '10.0.0.5:0']) {
    t.match(await faults({ SLUICE_LAB: place }), [/^SLUICE_LAB: other machines would reach the lab/], place)
    t.same(await faults({ SLUICE_LAB: place, SLUICE_LAB_OPEN: 'on' }), [], place)
  }
  for (const place of ['on', 'off', 'localhost:8081', '127.1.2.3:8081', '[::1]:8081']) {
    t.same(await faults({ SLUICE_LAB: place }), [], place)
  }
})
