import { setTimeout as sleep } from 'node:timers/promises'
import { KeptConnections, type TimedResponse } from '../../harness/http/kept-connections.js'
import { runPacedCalls } from '../../harness/http/pacer.js'
import { AdminClient } from '../../performance/federation/trust.js'
import { ADMIN_ENVIRONMENT } from '../../performance/gateway/calls.js'
import { apiRequest } from '../requests.js'
import type { Staging } from '../staging.js'
import { sweepStats } from '../stats-body.js'
import { atLeast, exactly, figure, over, playRounds, type Trial, type TrialContext } from '../trial.js'
import { connectDirectory } from './directory-stage.js'
import type { FakeDirectory } from './fake-directory.js'

const WORKERS = 2
const PER_SECOND = 100
const CONNECTIONS = 32
const GROUP = 'engineers'
/** Calls with a successful answer before the change, and with any answer after it, until a round goes on. */
const CALLS_BEFORE = 40
const CALLS_AFTER = 40
const CALL = { model: 'sim/instant', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4 }

/** How somebody loses access, by turns. */
const ENDS: Readonly<Record<string, (directory: FakeDirectory, userName: string) => Promise<unknown>>> = {
  'is deactivated': (directory, userName) => directory.setActive(userName, false),
  'leaves the group': (directory, userName) => directory.leave(GROUP, userName),
  'is deleted': (directory, userName) => directory.remove(userName),
}

/** Calls without a pause with the key of somebody whom the directory takes it away from meanwhile. */
async function playEnd(port: number, admin: AdminClient, directory: FakeDirectory, round: number) {
  const userName = `person-${round}`
  const id = await directory.addUser(userName)
  await directory.join(GROUP, [userName])
  const { key } = await admin.newKey({ creator_user_id: id })
  const request = apiRequest('POST', '/chat/completions', CALL, key)
  const connections = await KeptConnections.open(port, CONNECTIONS)
  const calls: TimedResponse[] = []
  let running = true
  // The connections take turns and so reach both workers.
  const calling = runPacedCalls({ perSecond: PER_SECOND, running: () => running }, async () => {
    const answer = await connections.ask(request)
    if (answer !== null) calls.push(answer)
  })
  while (calls.length < CALLS_BEFORE) await sleep(5)
  const [how, end] = Object.entries(ENDS)[round % Object.keys(ENDS).length]!
  await end(directory, userName)
  const answeredAt = performance.now()
  const after = (): TimedResponse[] => calls.filter(({ sentAt }) => sentAt > answeredAt)
  while (after().length < CALLS_AFTER) await sleep(5)
  running = false
  await calling
  connections.drop()
  const late = after()
  return {
    how,
    before: calls.length - late.length,
    succeededBefore: calls.filter(({ sentAt, status }) => sentAt <= answeredAt && status === 200).length,
    succeeded: late.filter(({ status }) => status === 200).length,
    refused: late.filter(({ status }) => status === 401).length,
    after: late.length,
  }
}

/** Rounds in which somebody loses access under load, and how evenly the workers were called. */
export async function endsUnderLoad(context: Omit<TrialContext, 'cores'> & { readonly staging: Staging }) {
  const server = await context.staging.start({ workers: WORKERS, environment: ADMIN_ENVIRONMENT })
  const { port, origin } = server
  const admin = new AdminClient(origin)
  const { directory } = await connectDirectory(port, admin, 'directory')
  const groupId = await directory.addGroup(GROUP, [])
  const { data: workspaces } = await admin.requireSuccess('GET', '/workspaces')
  const mapping = { scim_group_id: groupId, workspace_id: workspaces[0].id, role: 'member' }
  await admin.requireSuccess('POST', '/scim/group-mappings', mapping)
  const rounds = await playRounds(
    { ...context, cores: null },
    (number) => playEnd(port, admin, directory, number),
    ({ how, before, after, succeeded }) =>
      `who ${how}: ${before} calls before, ${succeeded} successes of ${after} begun after the answer`,
  )
  const { leastRequests } = await sweepStats(port, WORKERS)
  directory.client.drop()
  await server.stop()
  return { rounds, leastRequests }
}

export const directoryDeactivation: Trial = {
  name: 'directory-deactivation',
  summary:
    'somebody is deactivated, leaves the group, or is deleted while 100 calls a second use the key over two workers: no success begins after the answer',
  rounds: 20,
  roundLimitS: 30,
  run: async (context) => {
    const { rounds, leastRequests } = await endsUnderLoad(context)
    const all = over(rounds)
    return {
      bars: [
        exactly('successes of calls begun after the answer to the directory', all.sum('succeeded'), 0),
        exactly(
          'calls answered with neither 200 nor 401 then',
          all.sum('after') - all.sum('succeeded') - all.sum('refused'),
          0,
        ),
        atLeast('calls refused in each round (else nothing was tried)', all.min('refused'), CALLS_AFTER),
        atLeast('calls that succeeded before, in each round', all.min('succeededBefore'), CALLS_BEFORE),
        atLeast('requests of the less used worker', leastRequests, 10),
      ],
      figures: [figure('rounds', context.rounds), figure('calls', all.sum('before') + all.sum('after'))],
    }
  },
}
