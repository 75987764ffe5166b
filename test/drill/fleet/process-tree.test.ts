import { test } from 'tap'
import { ServerProcess } from '../../../src/base/server-process.js'
import { signalTree } from '../../../src/drill/fleet/process-tree.js'
import { eventually } from '../../support/timing/eventually.js'

/** One that outlives its parent in one of ten is found by these. */
const TREES = 60

test('a process that is killed with all below it leaves none of them', async (t) => {
  for (let tree = 0; tree < TREES; tree++) {
    const parent = new ServerProcess(['/bin/sh', '-c', 'sleep 600 & sleep 600 & echo up; wait'], { cwd: '/' })
    await eventually(() => parent.stdout !== '')
    let isClosed = false
    void parent.closed.then(() => {
      isClosed = true
    })
    signalTree(parent.pid, 'SIGKILL')
    // Its output is closed when the last of them is gone.
    await eventually(() => isClosed)
  }
  t.pass('all are gone')
})
