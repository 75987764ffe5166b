import { setTimeout as sleep } from 'node:timers/promises'
import type { FleetStage, Payer } from '../../../src/drill/fleet/stage.js'
import { median } from '../../harness/figures/statistics.js'
import { atLeast, atMost, exactly, figure, type Trial, type TrialContext } from '../trial.js'
import { withFleet } from './fleet-trial.js'

/**
 * Over all machines, 100 on each of three: more machines share them, or what two cores can bear would be what is measured.
 */
const CALLS_PER_SECOND = 300
const STEADY_MS = 500
/** Heartbeats are trusted for 10 s, and what others grant on top is a fifth. */
const LONGEST_WAIT_MS = 14_000
const SIZES = [3, 8, 20]
const STRUCK = 1

/** A caller asks again while it hears 503, as `Retry-After` says: no longer than this. */
const REPEATED_FOR_MS = 40_000

/** The answer that says whether the key is disabled, with the time since it was first asked for. */
async function disable(stage: FleetStage, keyHash: string, credential: string) {
  const begun = performance.now()
  for (let repeated = 0; ; repeated++) {
    const answer = await stage.manage(0, 'PATCH', `/keys/${keyHash}`, { disabled: true }, credential)
    const ms = performance.now() - begun
    if (answer.status !== 503 || ms > REPEATED_FOR_MS) return { ...answer, ms, repeated }
    await sleep(STEADY_MS)
  }
}

/** Disables a key that all machines are called with, and watches who still lets it in. */
async function revoke(stage: FleetStage, payer: Payer) {
  const spare = await stage.addKey(payer.managementKey)
  const load = stage.load(spare, CALLS_PER_SECOND)
  await sleep(STEADY_MS)
  return {
    finish: async () => {
      const changed = await disable(stage, spare.keyHash, payer.managementKey)
      const answeredAt = performance.now()
      await sleep(STEADY_MS)
      return {
        ...changed,
        end: async () => {
          await load.stop()
          const after = load.calls.filter(({ sentAt }) => sentAt > answeredAt)
          const late = after.filter(({ status }) => status === 200).length
          return { late, refused: after.filter(({ status }) => status === 401).length }
        },
      }
    },
  }
}

type Struck = 'none' | 'frozen' | 'cut off'

async function playRevocation(stage: FleetStage, payer: Payer, struck: Struck) {
  const { fleet } = stage
  const revoking = await revoke(stage, payer)
  if (struck === 'frozen') fleet.machines[STRUCK]!.freeze()
  if (struck === 'cut off') fleet.links[STRUCK]!.fault = { kind: 'freeze' }
  const { status, ms, json, repeated, end } = await revoking.finish()
  if (struck === 'frozen') fleet.machines[STRUCK]!.thaw()
  // What it is asked while it is cut off counts as well; then it comes back and must still refuse.
  if (struck === 'cut off') fleet.links[STRUCK]!.fault = { kind: 'none' }
  await sleep(STEADY_MS)
  const said = status === 200 ? '' : `${status}: ${JSON.stringify(json)}`
  return { struck, status, ms, repeated, said, ...(await end()) }
}

/** Rounds with a fleet of this size: each once with all machines well, with one frozen and with one cut off. */
function playSize(context: TrialContext, size: number, struck: readonly Struck[]) {
  return withFleet(context, { size }, async (stage) => {
    const payer = await stage.addPayer(1_000_000)
    const all: Awaited<ReturnType<typeof playRevocation>>[] = []
    for (let round = 0; round < context.rounds; round++) {
      for (const one of struck) {
        const played = await playRevocation(stage, payer, one)
        all.push(played)
        const { status, ms, repeated, late, refused } = played
        context.progress(
          `${size} machines, struck ${one}: ${status} after ${Math.round(ms)} ms (asked ${repeated + 1} times), ${late} served afterwards, ${refused} refused`,
        )
        await sleep(STEADY_MS)
      }
    }
    return all
  })
}

export const fleetRevocation: Trial = {
  name: 'fleet-revocation',
  summary: 'a key disabled under 300 calls a second over all machines: no success begins after the answer',
  rounds: 5,
  roundLimitS: 150,
  run: async (context) => {
    const small = await playSize(context, SIZES[0]!, ['none', 'frozen', 'cut off'])
    const large = []
    for (const size of SIZES.slice(1)) large.push(await playSize(context, size, ['none']))
    const all = [small, ...large].flat()
    const well = (rounds: typeof all): number =>
      median(rounds.filter(({ struck }) => struck === 'none').map(({ ms }) => ms))
    return {
      bars: [
        exactly(
          'successes that began after the answer',
          all.reduce((sum, { late }) => sum + late, 0),
          0,
        ),
        exactly('changes not answered with 200', all.filter(({ status }) => status !== 200).length, 0),
        atMost('longest wait for the answer', Math.max(...all.map(({ ms }) => ms)), LONGEST_WAIT_MS, 'ms'),
        atLeast(
          'calls refused (else nothing was tried)',
          all.reduce((sum, { refused }) => sum + refused, 0),
          100,
        ),
      ],
      figures: [
        ...[small, ...large].map((rounds, at) =>
          figure(`time to revoke over ${SIZES[at]} machines, median`, well(rounds), 'ms'),
        ),
        figure(
          'answers of 503 before those of 200',
          all.reduce((sum, { repeated }) => sum + repeated, 0),
        ),
      ],
      notes: all.map(({ said }) => said).filter(Boolean),
    }
  },
}
