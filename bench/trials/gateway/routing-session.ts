import { Connection } from '../../harness/http/connection.js'
import { sweepStats } from '../stats-body.js'
import { atLeast, exactly, figure, over, playRounds, type Trial } from '../trial.js'
import { type RoutingStage, routedCall, stageRouting } from './routing-stage.js'

const SESSIONS = 100
const CONNECTIONS = 16
const ANSWER_MS = 2
const HEALTHY_TURNS = 10
/** Long enough for several probes of the dead one. */
const DEAD_MS = 5_000
/** In which a dead one that serves again has to get sessions again. */
const REVIVED_MS = 10_000

/** Who has served a session, in order. */
class SessionLog {
  readonly served: string[] = []
  failed = 0

  constructor(readonly name: string) {}

  /** How often it was served by another than the time before. */
  get moves(): number {
    return this.served.filter((each, at) => at > 0 && each !== this.served[at - 1]).length
  }
}

type SessionRound = Awaited<ReturnType<typeof playRound>>

async function callOnce(connection: Connection, session: SessionLog): Promise<void> {
  const answer = await connection.send(routedCall(session.name))
  if (answer.status !== 200) session.failed++
  else session.served.push(String((JSON.parse(answer.body.toString()) as { provider: unknown }).provider))
}

/** Every session once. A session's calls come on a connection after the other, so that both workers see it. */
async function callEverySession(
  connections: readonly Connection[],
  sessions: readonly SessionLog[],
  at: number,
): Promise<void> {
  const lane = async (connection: Connection, own: number): Promise<void> => {
    for (let i = own; i < sessions.length + CONNECTIONS; i += CONNECTIONS) {
      const session = sessions[i - (at % CONNECTIONS)]
      if (session !== undefined) await callOnce(connection, session)
    }
  }
  await Promise.all(connections.map(lane))
}

/** Turns until the time is over, or `done`; milliseconds. */
async function repeatFor(ms: number, play: (at: number) => Promise<void>, done = () => false) {
  const begun = performance.now()
  for (let at = 0; performance.now() - begun < ms && !done(); at++) await play(at)
  return performance.now() - begun
}

async function playRound({ server, providers }: RoutingStage) {
  const [one] = providers
  const connections = await Connection.openAll(server.port, CONNECTIONS)
  const sessions = Array.from({ length: SESSIONS }, (_, at) => new SessionLog(`session ${at}`))
  const play = (at: number): Promise<void> => callEverySession(connections, sessions, at)
  for (let at = 0; at < HEALTHY_TURNS; at++) await play(at)
  const strayed = sessions.filter(({ moves }) => moves > 0).length
  const atOne = new Set(sessions.filter(({ served }) => served[0] === one.name))
  await one.switchTo('refuse')
  await repeatFor(DEAD_MS, play)
  await one.switchTo('serve')
  let made = 0
  const fresh: SessionLog[] = []
  const backMs = await repeatFor(
    REVIVED_MS,
    async (at) => {
      const some = Array.from({ length: CONNECTIONS }, () => new SessionLog(`fresh session ${made++}`))
      fresh.push(...some)
      await callEverySession(connections, some, 0)
      await play(at)
    },
    () => fresh.some(({ served }) => served.includes(one.name)),
  )
  await play(0)
  for (const connection of connections) connection.drop()
  const { leastRequests } = await sweepStats(server.port, 2)
  return {
    homes: atOne.size,
    strayed,
    movedOnce: [...atOne].filter(({ moves, served }) => moves === 1 && served.at(-1) !== one.name).length,
    disturbed: sessions.filter((session) => !atOne.has(session) && session.moves > 0).length,
    failed: over([...sessions, ...fresh]).sum('failed'),
    leastRequests,
    /** Milliseconds until a new session was served by the one that had been dead. */
    backMs,
  }
}

export const routingSession: Trial = {
  name: 'routing-session',
  summary:
    '100 sessions over two workers: each stays with its endpoint while that is well, and moves once when it is not',
  rounds: 2,
  roundLimitS: 60,
  run: async (context) => {
    const play = async (): Promise<SessionRound> => {
      const stage = await stageRouting(context, ANSWER_MS)
      const round = await playRound(stage)
      await stage.stop()
      return round
    }
    const all = await playRounds(context, play, (round) => JSON.stringify(round))
    const { sum, min, max } = over(all)
    const revived = all.filter(({ backMs }) => backMs < REVIVED_MS).length
    return {
      bars: [
        exactly('sessions that changed their endpoint while both were well', sum('strayed'), 0),
        exactly('sessions of the one that died that moved once, for good', sum('movedOnce'), sum('homes')),
        exactly('sessions of the other that moved', sum('disturbed'), 0),
        exactly('failed calls', sum('failed'), 0),
        atLeast('requests of the less used worker', min('leastRequests'), 100),
        atLeast('rounds in which the revived one got sessions again within 10 s', revived, all.length),
      ],
      figures: [
        figure('sessions', SESSIONS * all.length),
        figure('of them at the one that died', sum('homes')),
        figure('until the revived one served a session, the worst round', max('backMs'), 'ms'),
      ],
    }
  },
}
