/** The command line of the raw requests: plays all of them against a server that is running, and says what is wrong. */

import { setTimeout as sleep } from 'node:timers/promises'
import { readFlags, UsageError, wholeOption } from '../../../harness/option-values.js'
import { describeVerdict, judge } from './judge.js'
import type { Server } from './limits.js'
import { itemNames, playAll } from './play.js'
import { RAW_REQUESTS } from './table.js'

const HELP = `node dist/bench/trials/attacks/raw-requests/run.js --port n [options]

Plays ${RAW_REQUESTS.length} raw requests against a server that is running: each alone, and those that are refused or
the last of their connection also with a request behind them. The server keeps the items they create.

  --host address  (default: 127.0.0.1)
  --port n        where the server or the proxy in front of it listens
  --server kind   who is asked: older or newer (the native build, alone), nginx or haproxy (default: older)
  --only text     only requests whose name holds this text
  --all           also tell what was right

Exit code: 0 nothing wrong, 1 otherwise, 2 bad options.
`
const SERVERS: readonly Server[] = ['older', 'newer', 'nginx', 'haproxy']
/** Time for what was accepted to reach the store. */
const SETTLE_MS = 500

async function main(): Promise<number> {
  const given = readFlags(process.argv.slice(2), 'host port server only', 'all help')
  if (given.help) {
    process.stdout.write(HELP)
    return 0
  }
  const target = { host: given.host ?? '127.0.0.1', port: wholeOption('port', given.port, 8080, 1, 65_535) }
  const server = SERVERS.find((one) => one === (given.server ?? 'older'))
  if (server === undefined) throw new UsageError(`--server needs one of ${SERVERS.join(', ')}`)
  const only = given.only ?? ''
  const plays = await playAll(
    target,
    RAW_REQUESTS.filter(({ name }) => name.includes(only)),
  )
  await sleep(SETTLE_MS)
  const names = await itemNames(target)
  const verdicts = plays.map((play) => judge(server, play, names))
  for (const verdict of verdicts)
    if (given.all || verdict.faults.length > 0) process.stdout.write(`${describeVerdict(verdict)}\n`)
  const wrong = verdicts.filter(({ faults }) => faults.length > 0).length
  const limited = verdicts.filter(({ right, faults }) => !right && faults.length === 0).length
  process.stdout.write(`${plays.length} connections: ${wrong} wrong, ${limited} under a known limit\n`)
  return wrong === 0 ? 0 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`${error.message}\n\n${HELP}`)
  process.exitCode = 2
}
