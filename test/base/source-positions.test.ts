import { test } from 'tap'
import { BUILT } from '../../src/base/built-files.js'
import { traceToSources } from '../../src/base/source-positions.js'

test('a trace names the files of the sources and the lines in them', async (t) => {
  const trace = `TypeError: wrong
    at own (${import.meta.url}:1:1)
    at ${import.meta.url}:1:1`
  const source = import.meta.url.replace('/dist/', '/').replace(/js$/, 'ts')
  t.equal(
    traceToSources(trace).replaceAll(source, 'SOURCE'),
    'TypeError: wrong\n    at own (SOURCE:1:1)\n    at SOURCE:1:1',
  )
})

test('places in Node, in packages and in files without a map stay as they are', async (t) => {
  const trace = `Error: x
    at JSON.parse (<anonymous>)
    at node:internal/process/task_queues:77:11
    at file:///elsewhere/node_modules/x/index.js:3:4
    at ${BUILT}gone.js:1:1`
  t.equal(traceToSources(trace), trace)
})
