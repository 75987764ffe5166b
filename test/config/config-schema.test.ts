import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { test } from 'tap'
import { configSchema } from '../../src/compose/configuration.js'
import { SETTINGS } from '../../src/config/config.js'
import { runSluice } from '../support/servers/server-process.js'

const PUBLISHED = new URL('../../../src/config/config.schema.json', import.meta.url)

test('the published schema is the one the code makes', async (t) => {
  t.same(JSON.parse(readFileSync(PUBLISHED, 'utf8')), configSchema())
})

test('config-schema prints it', async (t) => {
  const { code, stdout, stderr } = await runSluice(t, ['config-schema'])
  t.equal(code, 0)
  t.equal(stderr, '')
  t.same(JSON.parse(stdout), JSON.parse(readFileSync(PUBLISHED, 'utf8')))
})

test('every setting stands in it with its sentence', async (t) => {
  const { properties } = configSchema() as { properties: Record<string, { description?: string }> }
  for (const { key, about } of Object.values(SETTINGS)) t.equal(properties[key]?.description, about, key)
  for (const key of ['providers', 'models', 'permissions', 'limits', 'simulated_models']) {
    t.ok(properties[key]?.description, key)
  }
})

const GOOD = {
  port: 1,
  workers: 'auto',
  providers: { local: { kind: 'openai', base_url: 'http://127.0.0.1:1/v1', timeouts: { idle_ms: 1 } } },
  models: {
    'acme/large:free': { endpoints: [{ provider: 'local', prices: { prompt: '0.1', request: 1 } }] },
  },
  permissions: { transcription: 'key' },
  limits: { upload_body_bytes: 1 },
  simulated_models: false,
}

const BAD: readonly object[] = [
  { portt: 1 },
  { port: -1 },
  { providers: { A: { kind: 'simulated' } } },
  { providers: { a: { kind: 'simulated', base_url: 'http://x' } } },
  { providers: { a: { kind: 'openai' } } },
  { models: { 'acme/large': {} } },
  { models: { '/acme': { endpoints: [{ provider: 'sim' }] } } },
  { models: { 'acme/large': { endpoints: [] } } },
  { models: { 'acme/large': { endpoints: [{ provider: 'sim', quantization: 'fp7' }] } } },
  { permissions: { transcription: 'anyone' } },
  { limits: { upload: 1 } },
]

test('an editor that uses it accepts good files and marks bad ones', async (t) => {
  const validate = new Ajv2020({ strict: false }).compile(configSchema())
  t.ok(validate({}))
  t.ok(validate(GOOD), JSON.stringify(validate.errors))
  for (const file of BAD) t.notOk(validate(file), JSON.stringify(file))
})
