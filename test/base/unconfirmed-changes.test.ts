/** Which machines have not confirmed a change is told to the call that has made it, and to no other. */
import { test } from 'tap'
import { changeWitness, collectUnconfirmed } from '../../src/base/unconfirmed-changes.js'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('changes of one moment belong to their own calls', async (t) => {
  const witnesses: ReturnType<typeof changeWitness>[] = []
  const change = async (): Promise<string> => {
    await turn()
    witnesses.push(changeWitness())
    while (witnesses.length < 2) await turn()
    await turn()
    return 'done'
  }
  const calls = [collectUnconfirmed(change), collectUnconfirmed(change)]
  while (witnesses.length < 2) await turn()
  witnesses[0]!(['b'])
  witnesses[0]!(['b', 'c'])
  witnesses[1]!([])
  t.same(await Promise.all(calls), [
    { result: 'done', machines: ['b', 'c'] },
    { result: 'done', machines: [] },
  ])
})

test('also when another call has ended meanwhile', async (t) => {
  const long = collectUnconfirmed(async () => {
    await collectUnconfirmed(async () => turn())
    await turn()
    changeWitness()(['b'])
  })
  t.same((await long).machines, ['b'])
  t.same((await collectUnconfirmed(turn)).machines, [], 'and what comes later begins anew')
})

test('a change of nobody is told to nobody, and a call that fails is over', async (t) => {
  changeWitness()(['b'])
  await t.rejects(
    collectUnconfirmed(() => Promise.reject(new Error('no'))),
    /no/,
  )
  t.same((await collectUnconfirmed(turn)).machines, [])
})
