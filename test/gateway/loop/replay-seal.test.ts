/** The mark by which what a caller hands back is known (contract/tools 1.3). */
import { randomBytes } from 'node:crypto'
import { test } from 'tap'
import { ANONYMOUS } from '../../../src/base/principal.js'
import { ReplaySeal } from '../../../src/gateway/loop/replay-seal.js'

const KEY = randomBytes(32)
const MINE = { ...ANONYMOUS, organizationId: 'o', workspaceId: 'w' }
const PARTS = ['call-1', 'web_search', '{"query":"a"}', '{"results":[]}']

test('a mark holds for the same words of the same workspace, on every worker', async (t) => {
  const mark = new ReplaySeal(KEY).mark(MINE, PARTS)
  const seal = new ReplaySeal(KEY)
  t.ok(seal.isMarked(MINE, PARTS, mark))
  t.match(mark, /^[A-Za-z0-9_-]{22}$/)
  for (const [what, caller, parts, told] of [
    ['another workspace', { ...MINE, workspaceId: 'v' }, PARTS, mark],
    ['another organization', { ...MINE, organizationId: 'p' }, PARTS, mark],
    ['no workspace', { ...MINE, workspaceId: null }, PARTS, mark],
    ['another result', MINE, [...PARTS.slice(0, 3), '{"results":[1]}'], mark],
    ['words cut elsewhere', MINE, ['call-1web_search', '', ...PARTS.slice(2)], mark],
    ['fewer words', MINE, PARTS.slice(1), mark],
    ['a shorter mark', MINE, PARTS, mark.slice(0, 10)],
    ['no mark', MINE, PARTS, ''],
    ['a longer mark', MINE, PARTS, `${mark}AAAA`],
  ] as const)
    t.notOk(seal.isMarked(caller, parts, told), what)
  t.notOk(new ReplaySeal(randomBytes(32)).isMarked(MINE, PARTS, mark), 'another key')
})
