/** Which values of settings are shown, and which are not. */
import { test } from 'tap'
import { loadConfig, settingsOf } from '../../src/compose/configuration.js'
import { SETTINGS } from '../../src/config/config.js'
import { credential, databaseUrl } from '../../src/config/values.js'

async function shownUrl(url: string): Promise<unknown> {
  const config = await loadConfig({ SLUICE_DATABASE_URL: url, SLUICE_SEALING_KEY_FILE: import.meta.filename })
  return settingsOf(config, config.gateway).find(({ name }) => name === 'database_url')?.value
}

test('a database is shown without user, password and query, in whatever form they come', async (t) => {
  const urls = {
    'postgres://ann:s3cret@db.example:5432/main': 'postgres://***@db.example:5432/main',
    'postgresql://s3cret@db.example/main': 'postgresql://***@db.example/main',
    'postgres://:s3cret@db.example/main': 'postgres://***@db.example/main',
    'postgres://ann:s3%40cret@[::1]/main?password=s3cret#s3cret': 'postgres://***@[::1]/main',
    'postgres://db.example/main?sslpassword=s3cret': 'postgres://db.example/main',
  }
  for (const [url, shown] of Object.entries(urls)) t.equal(await shownUrl(url), shown, url)
})

test('every setting whose schema is one of credentials is hidden', async (t) => {
  for (const { key, schema, hides } of Object.values(SETTINGS)) {
    if (schema === credential) t.equal(hides, 'value', key)
    else t.equal(hides, schema === databaseUrl ? 'credentials' : null, key)
  }
})

test('a fixed key is only said to be set, however long it is', async (t) => {
  const keys = ['a'.repeat(32), 'b'.repeat(64)].map((tail) => `sk-${tail}`)
  for (const key of keys) {
    const config = await loadConfig({ SLUICE_API_KEY: key })
    const row = settingsOf(config, config.gateway).find(({ name }) => name === 'api_key')
    t.match(row, { value: 'set', default: 'not set', source: 'environment' })
  }
})
