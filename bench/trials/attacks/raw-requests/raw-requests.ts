/**
 * All raw requests against a server alone, and behind each shipped proxy that is installed here. The servers are asked at
 * the same time, because nearly all of it is waiting for their timers.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isInstalled, type ProxyName, startProxy } from '../../../harness/server/shipped-proxies.js'
import {
  exactly,
  figure,
  type Trial,
  type TrialBar,
  type TrialContext,
  type TrialFigure,
} from '../../trial.js'
import { describeVerdict, judge } from './judge.js'
import type { Server } from './limits.js'
import { itemNames, playAll } from './play.js'
import { RAW_REQUESTS } from './table.js'

/** Time for what was accepted to reach the store. */
const SETTLE_MS = 500
const MOST_NOTES = 100
const HOST = '127.0.0.1'

/** The server under trial runs under the Node of this process, and that decides on its native build. */
const BUILD: Server = Number.parseInt(process.versions.node, 10) >= 24 ? 'newer' : 'older'

interface Front {
  readonly name: string
  /** Null: nothing stands in front. */
  readonly proxy: ProxyName | null
  readonly environment?: Readonly<Record<string, string>>
}

const FRONTS: readonly Front[] = [
  { name: `the ${BUILD} build alone`, proxy: null },
  { name: `nginx before the ${BUILD} build`, proxy: 'nginx' },
  { name: `haproxy before the ${BUILD} build`, proxy: 'haproxy' },
  {
    name: `haproxy before the ${BUILD} build, which keeps connections behind chunks`,
    proxy: 'haproxy',
    environment: { SLUICE_ALLOW_CHUNKED: 'on' },
  },
]

async function playFront({ proxy: name, environment }: Front, { staging }: TrialContext) {
  const server = await staging.start({ environment: { SLUICE_TRUSTED_PROXIES: HOST, ...environment } })
  const proxy = name === null ? null : await startProxy(name, server.port, staging)
  try {
    const plays = await playAll({ host: HOST, port: proxy?.port ?? server.port }, RAW_REQUESTS)
    await sleep(SETTLE_MS)
    const names = await itemNames({ host: HOST, port: server.port })
    return plays.map((play) => judge(name ?? BUILD, play, names))
  } finally {
    await proxy?.stop()
    await server.stop()
  }
}

export const rawRequests: Trial = {
  name: 'raw-requests',
  summary: `${RAW_REQUESTS.length} raw requests, alone and behind the shipped proxies: what is refused ends its connection`,
  rounds: 1,
  roundLimitS: 1_200,
  run: async (context) => {
    const bars: TrialBar[] = []
    const figures: TrialFigure[] = []
    const notes: string[] = []
    const played = await Promise.all(
      FRONTS.map(async (front) => {
        const { name, proxy } = front
        if (proxy !== null && !isInstalled(proxy)) return { front, verdicts: null }
        const verdicts = await playFront(front, context)
        const wrong = verdicts.filter(({ faults }) => faults.length > 0).length
        context.progress(`${name}: ${verdicts.length} connections, ${wrong} wrong`)
        return { front, verdicts }
      }),
    )
    for (const { front, verdicts } of played) {
      if (verdicts === null) {
        notes.push(`${front.proxy} is not installed here: not tried`)
        continue
      }
      const wrong = verdicts.filter(({ faults }) => faults.length > 0)
      const limited = verdicts.filter(({ right, faults }) => !right && faults.length === 0)
      bars.push(exactly(`${front.name}: connections on which something is wrong`, wrong.length, 0))
      figures.push(figure(`${front.name}: connections`, verdicts.length))
      figures.push(figure(`${front.name}: under a limit that is listed`, limited.length))
      notes.push(...wrong.slice(0, MOST_NOTES).map(describeVerdict))
    }
    return { bars, figures, notes }
  },
}
