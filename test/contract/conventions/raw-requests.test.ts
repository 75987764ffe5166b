/**
 * contract/decisions 21 and 47 on the running server, by a list of raw requests: what is refused ends its connection,
 * and nothing of it or behind it is run; what is served is served right; what the native server cannot do is listed.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'tap'
import { describeVerdict, isNamed, judge } from '../../../bench/trials/attacks/raw-requests/judge.js'
import { LIMITS } from '../../../bench/trials/attacks/raw-requests/limits.js'
import { itemNames, playAll } from '../../../bench/trials/attacks/raw-requests/play.js'
import { PROXY_LIMITS } from '../../../bench/trials/attacks/raw-requests/proxy-limits.js'
import { RAW_REQUESTS } from '../../../bench/trials/attacks/raw-requests/table.js'
import { IS_NEWER_BUILD } from '../../support/servers/native-edge.js'
import { startPracticeServer } from '../../support/servers/practice-server.js'

const BUILD = IS_NEWER_BUILD ? 'newer' : 'older'
const GUIDE = new URL('../../../../docs/guide/behind-a-proxy.md', import.meta.url)

test('the list has three hundred requests and more, each with a name of its own', async (t) => {
  t.ok(RAW_REQUESTS.length >= 300, `${RAW_REQUESTS.length} requests`)
  t.equal(new Set(RAW_REQUESTS.map(({ name }) => name)).size, RAW_REQUESTS.length)
  for (const { requests } of [...LIMITS, ...PROXY_LIMITS]) {
    for (const name of requests)
      t.ok(
        RAW_REQUESTS.some((request) => isNamed(request, name)),
        name,
      )
  }
})

test('the guide tells every limit of the native server and of the shipped proxies, and its remedy', async (t) => {
  const guide = readFileSync(GUIDE, 'utf8')
  for (const { says, remedy } of [...LIMITS, ...PROXY_LIMITS])
    t.ok(guide.includes(`| ${says} | ${remedy} |`), says)
})

test('every raw request gets what is right for it, or what is listed', { timeout: 240_000 }, async (t) => {
  const server = await startPracticeServer({ env: { SLUICE_WORKERS: '1' } })
  const target = { host: '127.0.0.1', port: server.port }
  const plays = await playAll(target, RAW_REQUESTS)
  // An item of a caller that has gone may still be on its way to the store.
  await sleep(500)
  const names = await itemNames(target)
  const verdicts = plays.map((play) => judge(BUILD, play, names))
  for (const verdict of verdicts) if (verdict.faults.length > 0) t.fail(describeVerdict(verdict))
  for (const limit of LIMITS.filter(({ of }) => of.includes(BUILD))) {
    const met = verdicts.some((verdict) => verdict.limit === limit && !verdict.right)
    t.ok(met, `still a limit: ${limit.says}`)
  }
  await server.stop()
})
