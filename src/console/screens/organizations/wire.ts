/** Organizations as the API tells them; only what is shown. */

import { numberIn } from '../../kit/fields.tsx'
import { textIn } from '../../kit/form.tsx'

export interface Organization {
  readonly id: string
  readonly name: string
  readonly plan: string
  /** Dollars that its calls may cost in all; null for no end. */
  readonly credits: number | null
  readonly credits_left: number | null
  readonly created_at: string
  readonly updated_at: string | null
}

export const ORGANIZATIONS = 'api/v1/organizations'
export const organizationPath = (id: string): string => `${ORGANIZATIONS}/${encodeURIComponent(id)}`

/** What the fields of an organization say, as the API takes it. */
export function organizationIn(fields: FormData) {
  return { name: textIn(fields, 'name'), plan: textIn(fields, 'plan'), credits: numberIn(fields, 'credits') }
}
