/**
 * Runs several test files in this process, one after the other: most unit tests take less time than a process needs
 * to start. A line of its own names each file before the tests in it, and fails when the file cannot be loaded.
 */
import { once } from 'node:events'
import { relative } from 'node:path'
import { t } from 'tap'

for (const path of process.argv.slice(2)) {
  // What a file declares while it is loaded waits until that is done; when nothing waits any more, the file is over.
  await t.test(relative(process.cwd(), path), async () => {
    await import(path)
  })
  if (!t.idle) await once(t, 'idle')
}
