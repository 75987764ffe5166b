import type { SeededRandom } from '../random.js'

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Letters and digits as ids have them. */
export function randomAlphanumerics(random: SeededRandom, count: number): string {
  let letters = ''
  for (let i = 0; i < count; i++) letters += LETTERS[random.nextBelow(LETTERS.length)]
  return letters
}
