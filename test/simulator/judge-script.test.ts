/** What the simulated judge finds. */
import { test } from 'tap'
import { runCompletion, userRequest } from './calls.js'

function verdict(rules: readonly unknown[], text: unknown): string | null {
  const request = userRequest(JSON.stringify({ rules, text }))
  return runCompletion(request, 'sim/judge').completion!.choices[0]!.message.content
}

test('a rule is broken by a word that it quotes, or by its name', async (t) => {
  const rules = ['never say "banana"', 'violence: threats', 'be brief', 7]
  t.equal(verdict(rules, 'One Banana.'), '{"scores":[1,0,0,0]}')
  t.equal(verdict(rules, 'judge:violence now'), '{"scores":[0,1,0,0]}')
  t.equal(verdict(rules, 'an apple'), '{"scores":[0,0,0,0]}')
})

test('what is no question for a judge is answered as by any other model', async (t) => {
  t.notMatch(
    runCompletion(userRequest('hello'), 'sim/judge').completion!.choices[0]!.message.content,
    /scores/,
  )
  t.notMatch(verdict(['a'], 5), /scores/)
})
