/**
 * The abuser, a process of its own: what it costs to attack must not show in the figures of those who are measured. It
 * is told by one message which attack to play against whom, and answers with the report.
 */
import { setPriority } from 'node:os'
import type { AttackTarget } from './attack.js'
import { ATTACKS } from './attacks.js'

/** What it is told. */
export interface AttackJob extends Omit<AttackTarget, 'over'> {
  readonly attack: string
}

/** It shares a core with those who measure, and yields to them. */
const NICE = 10

setPriority(NICE)
process.once('disconnect', () => process.exit(0))
process.once('message', async (job: AttackJob) => {
  const attack = ATTACKS.find(({ name }) => name === job.attack)!
  const report = await attack.play({ ...job, over: AbortSignal.timeout(job.seconds * 1_000) })
  process.send?.(report, () => process.exit(0))
})
