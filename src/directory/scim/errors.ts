/** What a SCIM request is refused with, as a value (RFC 7644 3.12). */

export type ScimType =
  | 'invalidFilter'
  | 'tooMany'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue'

/** A refusal; returned, never thrown. `detail` is a sentence for who runs the directory and quotes no value. */
export class ScimError {
  constructor(
    readonly status: 400 | 404 | 409 | 412 | 413,
    readonly scimType: ScimType | null,
    readonly detail: string,
  ) {}
}

/** A 400, which most refusals are. */
export function refusal(scimType: ScimType, detail: string): ScimError {
  return new ScimError(400, scimType, detail)
}
