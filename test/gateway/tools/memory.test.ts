import fc from 'fast-check'
import { test } from 'tap'
import { runCommand } from '../../../src/gateway/tools/memory/commands.js'
import { memorySuite } from '../../conformance/memory-suite.js'
import { openStore } from '../../support/data/open-store.js'
import { tempFolder } from '../../support/data/temp-folder.js'

memorySuite({ name: 'lmdb', place: async (t) => tempFolder(t), open: (t, place) => openStore(t, place) })

test('what is to be replaced is found where it stands, and nowhere else', (t) => {
  const word = (maxLength: number) => fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength })
  const root = { prefix: '', path: '/', commands: ['str_replace'], mostShown: 100 } as const
  const replaced = (text: string, old_str: string) => {
    let kept: string | null = null
    const put = (_: string, changed: string): boolean => {
      kept = changed
      return true
    }
    const texts = { get: () => text, list: () => [], put, remove: () => {}, move: () => {} }
    const args = { command: 'str_replace', path: 'x', old_str, new_str: '!' }
    return { result: runCommand(texts, args, root), kept: () => kept }
  }
  fc.assert(
    fc.property(word(40), word(6), (text, part) => {
      fc.pre(part !== '')
      const lines: number[] = []
      for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1))
        lines.push(text.slice(0, at).split('\n').length)
      const { result, kept } = replaced(text, part)
      if (lines.length === 1) t.equal(kept(), text.replace(part, '!'))
      else if (lines.length === 0) t.match(result, { error: /does not stand in/ })
      else t.match(result, { error: `in lines ${lines.slice(0, 20).join(', ')}:` })
    }),
    { numRuns: 2_000 },
  )
  t.end()
})
