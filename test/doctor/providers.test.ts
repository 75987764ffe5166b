/** What the doctor makes of the answers of providers: names that they do not list, and clocks. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { loadConfig } from '../../src/compose/configuration.js'
import { listProviderModels } from '../../src/doctor/model-listing.js'
import { examineProviders, judgeNames, judgeToldTimes } from '../../src/doctor/providers.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { mockUpstream } from '../support/providers/mock-upstream.js'

const KEY = 'sk-of-the-provider-0123456789'
const DAY_MS = 86_400_000

/** Examines a provider that answers so, which stands for these models; its headers are made with each answer. */
async function examine(
  t: Test,
  models: readonly string[],
  list: unknown,
  headers: () => Readonly<Record<string, string>> = () => ({}),
) {
  const { origin } = await mockUpstream(t, (peer) => peer.json(list, 200, headers()))
  const path = join(tempFolder(t), 'sluice.json')
  const endpoints = [{ provider: 'acme' }]
  const content = {
    providers: { acme: { kind: 'openai', base_url: `${origin}/v1`, api_key_env: 'ACME_KEY' } },
    models: Object.fromEntries(models.map((id) => [id, { context_length: 8_192, endpoints }])),
  }
  writeFileSync(path, JSON.stringify(content))
  const { gateway } = await loadConfig({ SLUICE_CONFIG: path, ACME_KEY: KEY })
  return examineProviders(gateway)
}

test('models that a provider does not list are named, and a list that has all of them is well', async (t) => {
  const list = { data: [{ id: 'good' }] }
  t.match(await examine(t, ['good'], list), [{ verdict: 'ok', found: /lists 1 model$/ }])
  t.match(await examine(t, ['good', 'bad', 'worse'], list), [
    { verdict: 'warn', found: /lists 1 model, without bad, worse$/, remedy: /names/ },
  ])
})

test('a list that has further pages, or is none, says nothing of a name', async (t) => {
  const partial = { data: [{ id: 'good' }, { id: 'other' }], has_more: true }
  t.match(await examine(t, ['bad'], partial), [{ verdict: 'ok', found: /lists 2 models and has more/ }])
  t.match(await examine(t, ['bad'], { models: ['good'] }), [{ verdict: 'ok', found: /lists no models/ }])
})

test('a provider that takes whatever stands behind a prefix is asked for no name', async (t) => {
  t.match(await examine(t, ['acme/*'], { data: [{ id: 'good' }] }), [{ verdict: 'ok' }])
})

test('names are told up to a number, and a prefix of the kind is none of the name', (t) => {
  const listing = { ids: ['models/a'], isWhole: true }
  t.match(judgeNames('provider x', 'x', listing, ['a', 'models/a']), { verdict: 'ok' })
  const names = Array.from({ length: 8 }, (_, n) => `m${n}`)
  t.match(judgeNames('provider x', 'x', listing, names), {
    found: 'x lists 1 model, without m0, m1, m2, m3, m4 and 3 more',
  })
  t.end()
})

test('a provider whose time is 90 days away tells of the clock of this machine', async (t) => {
  const list = { data: [{ id: 'good' }] }
  const at = (ms: number) => ({ date: new Date(Date.now() + ms).toUTCString() })
  const clockOf = async (headers: () => Readonly<Record<string, string>>) =>
    (await examine(t, ['good'], list, headers)).filter(({ check }) => check === 'provider clock')
  t.match(await clockOf(() => at(90 * DAY_MS)), [
    { verdict: 'warn', found: 'this machine is 90 days behind the provider', remedy: /chrony/ },
  ])
  t.match(await clockOf(() => at(0)), [{ verdict: 'ok' }])
  t.same(await clockOf(() => ({ ...at(90 * DAY_MS), age: '30' })), [], 'an answer of a cache tells no time')
  t.same(await clockOf(() => ({})), [])
})

test('a clock is wrong where no provider agrees, beyond what an answer took and a second has', (t) => {
  const told = (there: number, before = 1_000_000, after = 1_000_100) => ({ there, before, after })
  t.match(judgeToldTimes([told(1_000_000), told(9_000_000)]), [{ verdict: 'ok' }])
  t.match(judgeToldTimes([told(700_000), told(400_000)]), [
    { verdict: 'warn', found: 'this machine is 5 minutes ahead of all 2 providers' },
  ])
  t.match(judgeToldTimes([told(994_500)]), [{ verdict: 'ok' }], 'of which a second may have been cut off')
  t.match(
    judgeToldTimes([told(1_012_000, 1_000_000, 1_010_000)]),
    [{ verdict: 'ok' }],
    'ten seconds of an answer',
  )
  t.match(judgeToldTimes([told(1_006_000)]), [{ verdict: 'warn', found: /6 seconds behind the provider/ }])
  t.same(judgeToldTimes([]), [])
  t.end()
})

test('the question for models tells when it was answered also where it was refused', async (t) => {
  const date = new Date(Date.now() - DAY_MS).toUTCString()
  const { origin } = await mockUpstream(t, (peer) => peer.json({}, 401, { date }))
  const { told } = await listProviderModels({ kind: 'openai', baseUrl: origin }, KEY)
  t.match(told, { there: Date.parse(date) })
})
