import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { directionBreaches, idleAllowances, rowCircles, type Sources } from './check.js'
import { APPARATUS } from './rules.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

function tree(): Sources {
  const sources: Record<string, string> = {}
  for (const folder of ['bench', 'test']) {
    for (const entry of readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' })) {
      const path = `${folder}/${entry}`
      if (path.endsWith('.ts')) sources[path] = readFileSync(`${ROOT}${path}`, 'utf8')
    }
  }
  return sources
}

test('bench and the tests keep their import rows, without a cycle', async (t) => {
  const sources = tree()
  t.ok(Object.keys(sources).length > 500, 'the whole of both was read')
  t.same(directionBreaches(sources, APPARATUS), [])
})

test('no row of theirs allows more than its files need, and no way through the rows leads back', async (t) => {
  t.same(idleAllowances(tree(), APPARATUS), [])
  t.same(rowCircles(APPARATUS), [])
})

test('the rows refuse', async (t) => {
  const bad: Readonly<Record<string, readonly [text: string, refused: RegExp]>> = {
    'bench/harness/x.ts': [
      "import '../performance/sides.js'",
      /may not import bench\/performance\/sides\.ts/,
    ],
    'bench/harness/http/x.ts': ["import '../../../src/http/reply.js'", /may not import src\/http\/reply\.ts/],
    'bench/performance/x.ts': ["import '../trials/trial.js'", /may not import bench\/trials\/trial\.ts/],
    'bench/loadlab/x.ts': [
      "import '../performance/sides.js'",
      /may not import bench\/performance\/sides\.ts/,
    ],
    'test/support/x.ts': ["import '../../bench/trials/trial.js'", /may not import bench\/trials\/trial\.ts/],
    'test/support/servers/x.ts': [
      "import type { Worker } from '../../../src/compose/worker.js'",
      /may not import src\/compose\/worker\.ts/,
    ],
    'bench/trials/x.ts': [
      "import '../../test/support/clients/raw-http.js'",
      /may not import test\/support\/clients\/raw-http\.ts/,
    ],
    'test/conformance/x.ts': ["import '../contract/x.js'", /may not import test\/contract\/x\.ts/],
    'test/limits/self.test.ts': ["import './self.test.js'", /import cycle/],
    'bench/other/x.ts': ['', /stands in no place/],
  }
  for (const [path, [text, refused]] of Object.entries(bad)) {
    const [found = '', ...more] = directionBreaches({ [path]: text }, APPARATUS)
    t.match(found, refused, path)
    t.same(more, [])
  }
})
