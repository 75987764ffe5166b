/**
 * Loaded into a server by `--import`: counts the bytes that a process allocates on its heap between two signals
 * SIGUSR2, and writes them into the file `<pid>` of the folder HEAP_PROBE_FOLDER; the first signal writes 0. What is
 * collected meanwhile counts too: the engine tells the size of the heap before and after each collection.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GCProfiler, getHeapStatistics } from 'node:v8'
import { isMainThread } from 'node:worker_threads'

interface Collection {
  readonly beforeGC: { readonly heapStatistics: { readonly usedHeapSize: number } }
  readonly afterGC: { readonly heapStatistics: { readonly usedHeapSize: number } }
}

const usedNow = (): number => getHeapStatistics().used_heap_size

let begun: { readonly profiler: GCProfiler; readonly used: number } | null = null

/** Begins to count, or ends it and returns the bytes. */
function toggle(): number {
  if (begun === null) {
    const profiler = new GCProfiler()
    profiler.start()
    begun = { profiler, used: usedNow() }
    return 0
  }
  const end = usedNow()
  const collections = (begun.profiler.stop()?.statistics ?? []) as unknown as readonly Collection[]
  let { used } = begun
  begun = null
  let bytes = 0
  for (const { beforeGC, afterGC } of collections) {
    bytes += beforeGC.heapStatistics.usedHeapSize - used
    used = afterGC.heapStatistics.usedHeapSize
  }
  return bytes + end - used
}

const folder = process.env.HEAP_PROBE_FOLDER
if (isMainThread && folder !== undefined) {
  process.on('SIGUSR2', () => {
    const file = join(folder, String(process.pid))
    writeFileSync(`${file}.new`, String(toggle()))
    renameSync(`${file}.new`, file)
  })
}
