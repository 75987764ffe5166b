/** Colours and type of the product, as the console has them: from the same file. */
import { readFileSync } from 'node:fs'
import { BUILT } from '../../../src/base/built-files.js'

/** The whole file, for a page. */
export const TOKENS = readFileSync(new URL('pages/tokens.css', BUILT), 'utf8')

/** A colour by its role, for what is drawn apart from any page. Throws for a role that has not one of each. */
export function tokenColour(role: string): { readonly light: string; readonly dark: string } {
  const [, light, dark] = new RegExp(`--${role}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(TOKENS) ?? []
  if (light === undefined || dark === undefined) throw new Error(`there is no colour ${role}`)
  return { light, dark }
}
