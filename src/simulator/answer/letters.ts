import type { Random } from '../random.js'

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Letters and digits as ids have them. */
export function lettersOf(random: Random, count: number): string {
  let letters = ''
  for (let i = 0; i < count; i++) letters += LETTERS[random.below(LETTERS.length)]
  return letters
}
