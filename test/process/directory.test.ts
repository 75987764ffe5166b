/** Directories while the server is killed or called: small versions of the trials `directory-kill` and `directory-deactivation`. */
import { type Test, test } from 'tap'
import { builtServer } from '../../bench/harness/project.js'
import { endsUnderLoad } from '../../bench/trials/directory/directory-deactivation.js'
import { syncUnderKills } from '../../bench/trials/directory/directory-kill.js'
import { Staging } from '../../bench/trials/staging.js'

function contextOf(t: Test, rounds: number) {
  const staging = new Staging(builtServer(), null)
  t.teardown(() => staging.clear())
  return { staging, rounds, progress: (line: string) => t.comment(line) }
}

test('a sync that the server is killed in goes on where it was, and loses and doubles nothing', async (t) => {
  const found = await syncUnderKills(contextOf(t, 3))
  t.same(found.differences, [])
  t.ok(found.lost >= 3, 'each kill was noticed')
  t.equal(found.users, 480)
})

test('who is deactivated, leaves the group or is deleted calls no more from the answer on', async (t) => {
  const { rounds, leastRequests } = await endsUnderLoad(contextOf(t, 3))
  t.same(new Set(rounds.map(({ how }) => how)).size, 3, 'in each way once')
  for (const { how, succeededBefore, succeeded, refused, after } of rounds) {
    t.ok(succeededBefore > 0, `${how}: the key was good before`)
    t.equal(succeeded, 0, how)
    t.equal(refused, after, how)
  }
  t.ok(leastRequests > 0, 'both workers were asked')
})
