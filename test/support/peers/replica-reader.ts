/** A process of a machine that compares what its replica says it has with what is read of it. */
import { systemClock } from '../../../src/base/clock.js'
import { Replica } from '../../../src/store/replicated/replica.js'
import { type PeerProcess, servePeer, startPeer } from './peer-process.js'

export const SPACE = 'account-keys'
/** Its value is the version that has put it. */
export const KEY = Buffer.from('key')

/** What a reader has found until it was asked. */
export interface Reading {
  readonly reads: number
  /** Values that were older than what the replica had said just before. */
  readonly stale: readonly string[]
}

/** Reads in one go, before it listens. */
const AT_ONCE = 50

/** Starts one that reads the replica in this folder without a pause, until its end. */
export const startReplicaReader = (folder: string): Promise<PeerProcess<object, Reading>> =>
  startPeer(import.meta.url, folder)

await servePeer(import.meta.url, (folder) => {
  const replica = new Replica(folder, systemClock)
  const table = replica.table(SPACE, () => {})
  const stale: string[] = []
  let reads = 0
  let isOver = false
  const read = (): void => {
    const { version } = replica.position()!
    const bytes = replica.getUnbounded(table, KEY)!
    const value = bytes.toString('latin1', 0, bytes.length)
    replica.releaseSnapshot()
    reads++
    if (Number(value) < version) stale.push(`${value} at ${version}`)
  }
  const goOn = (): void => {
    for (let n = 0; n < AT_ONCE; n++) read()
    if (!isOver) setImmediate(goOn)
  }
  goOn()
  const close = (): Promise<void> => {
    isOver = true
    return replica.close()
  }
  return { answer: () => ({ reads, stale }), close }
})
