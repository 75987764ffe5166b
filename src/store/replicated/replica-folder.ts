import { join } from 'node:path'

/** Where a machine keeps its replica in its data folder. It may be taken away while no process of the machine runs. */
export function replicaFolder(dataDir: string): string {
  return join(dataDir, 'replica')
}
