import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { directionBreaches } from './check.js'
import { APPARATUS } from './rules.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

test('bench and the support of the tests keep their import rows', async (t) => {
  const sources: Record<string, string> = {}
  for (const folder of ['bench', 'test/support']) {
    for (const entry of readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' })) {
      const path = `${folder}/${entry}`
      if (path.endsWith('.ts')) sources[path] = readFileSync(`${ROOT}${path}`, 'utf8')
    }
  }
  t.ok(Object.keys(sources).length > 200, 'the whole of both was read')
  t.same(directionBreaches(sources, APPARATUS), [])
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
    'bench/other/x.ts': ['', /stands in no place/],
  }
  for (const [path, [text, refused]] of Object.entries(bad)) {
    const [found = '', ...more] = directionBreaches({ [path]: text }, APPARATUS)
    t.match(found, refused, path)
    t.same(more, [])
  }
})
