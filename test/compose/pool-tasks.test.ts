import { test } from 'tap'
import { type Cancellation, NEVER_ABORTED } from '../../src/base/cancellation.js'
import { pooledTokenCounter, sampleText } from '../../src/compose/pool-tasks.js'
import { CpuPool } from '../../src/cpu-pool/pool.js'

/** Six words of six tokens; by its length alone it would be guessed at seven. */
const TEXT = 'one two three four five six'

const NOBODY = { caller: '', cancellation: NEVER_ABORTED }

function poolOf(maxQueuedCost: number): CpuPool {
  return new CpuPool({ threads: 1, maxQueuedCost })
}

/** What a counter of this pool says of some texts of one organization. */
function counterOf(pool: CpuPool, organizationId = 'org-a') {
  const count = pooledTokenCounter(pool)
  return (texts: readonly string[], caller: Cancellation = NEVER_ABORTED) =>
    count(texts, organizationId, caller)
}

const counted = (...counts: number[]) => ({ counts, areGuessed: false })
const guessed = (...counts: number[]) => ({ counts, areGuessed: true })

test('texts are counted in the pool, in their order', async (t) => {
  const pool = poolOf(1_000_000)
  t.after(() => pool.close())
  t.same(await counterOf(pool)([TEXT, '', 'one']), counted(6, 0, 1))
  t.same(await counterOf(pool)([]), counted())
  t.equal(pool.snapshot().completed, 2)
})

test('of long texts samples are counted: no count takes a thread for long, and the figure stays near', async (t) => {
  const pool = poolOf(1_000_000)
  t.after(() => pool.close())
  const word = 'word '.repeat(400_000)
  const sentence = '今天天气很好，我们一起去公园散步吧。然后我们去吃饭，喝茶，聊天。'
  const chinese = sentence.repeat(15_000)
  const { counts, areGuessed } = await counterOf(pool)([word, chinese])
  const whole = await counterOf(pool)(['word '.repeat(4_000), sentence.repeat(150)])
  t.notOk(areGuessed)
  t.ok(Math.abs(counts[0]! / (whole.counts[0]! * 100) - 1) < 0.02, `${counts[0]}`)
  t.ok(Math.abs(counts[1]! / (whole.counts[1]! * 100) - 1) < 0.02, `${counts[1]}`)
})

test('a sample is taken from all of a text, in the share that is asked for', async (t) => {
  const text = Array.from({ length: 100_000 }, (_, at) =>
    String.fromCharCode(0x21 + Math.floor(at / 10_000)),
  ).join('')
  const sample = sampleText(text, 0.25, () => 0)
  t.equal(sample.length, 24_000)
  t.same([...new Set(sample)].length, 10, 'every tenth of the text is in it')
  t.equal(sampleText(text, 1), text)
  t.equal(sampleText('short', 0.001), 'short')
  t.equal(sampleText(text, 0.000001).length, 2_000)
  t.equal(sampleText(text, 0.25, () => 0.999_999).length, 24_000, 'also where each piece ends its part')
})

test('nobody knows where a sample is taken', async (t) => {
  const numbers = Array.from({ length: 20_000 }, (_, at) => `${at} `).join('')
  t.not(sampleText(numbers, 0.25), sampleText(numbers, 0.25))
})

test('a guess goes by the bytes of a text, as tokens do', async (t) => {
  const pool = poolOf(1000)
  await pool.close()
  t.same(await counterOf(pool)(['four', '今天天气', '']), guessed(1, 3, 0))
})

test('a full lane leaves guesses by length, says so, and fails nobody; whoever has a share of it is counted', async (t) => {
  const pool = poolOf(1_000_000)
  t.after(() => pool.close())
  const large = 'word '.repeat(400_000)
  const flood = Array.from({ length: 40 }, () => counterOf(pool, 'org-flood')([large]))
  t.same(await counterOf(pool, 'org-other')([TEXT, '', 'one']), counted(6, 0, 1), 'another organization')
  t.ok(pool.snapshot().rejected > 0)
  const results = await Promise.all(flood)
  t.ok(results.some(({ areGuessed }) => !areGuessed))
  t.ok(results.some(({ areGuessed, counts }) => areGuessed && counts[0] === 500_000))
})

test('a count ends with its caller, who waits for nothing', async (t) => {
  const pool = poolOf(1_000_000)
  t.after(() => pool.close())
  const leaves: (() => void)[] = []
  const caller = { onAbort: (leave: () => void) => leaves.push(leave) }
  const large = 'word '.repeat(400_000)
  const flood = Array.from({ length: 10 }, () => counterOf(pool)([large], caller))
  for (const leave of leaves) leave()
  const results = await Promise.all(flood)
  t.ok(results.filter(({ areGuessed }) => areGuessed).length >= 8, 'all but those in the thread’s hands')
  t.ok(pool.snapshot().dropped >= 8)
})

test('texts are counted however many hashes wait', async (t) => {
  const pool = poolOf(200_000)
  t.after(() => pool.close())
  const hash = async () =>
    pool.run('pbkdf2', { data: 'x', salt: 'y', rounds: 200_000 }, { cost: 200_000, ...NOBODY })
  const hashes = Promise.allSettled(Array.from({ length: 8 }, hash))
  t.same(await counterOf(pool)([TEXT, '', 'one']), counted(6, 0, 1))
  await hashes
})

test('a pool that has been closed leaves a guess as well', async (t) => {
  const pool = poolOf(1000)
  await pool.close()
  t.same(await counterOf(pool)([TEXT]), guessed(7))
})
