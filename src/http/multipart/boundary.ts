/** The boundary of a multipart body, from its Content-Type (RFC 2046 section 5.1.1, RFC 9110 section 8.3.1). */

const FORM_DATA = 'multipart/form-data'
/** One parameter: a token, or a quoted string. The quoted form may hold quoted pairs, which no boundary needs. */
const PARAMETER =
  /^[ \t]*;[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:"([^"\\]*)"|([!#$%&'*+.^_`|~0-9A-Za-z-]+))[ \t]*/
/** 1 to 70 characters, of which a space may not be the last. */
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/

/** Null when the type is not multipart/form-data, or names no boundary, two, or one that cannot be. */
export function boundaryOf(contentType: string): string | null {
  const end = contentType.indexOf(';')
  if (end < 0 || contentType.slice(0, end).trim().toLowerCase() !== FORM_DATA) return null
  let rest = contentType.slice(end)
  let boundary: string | null = null
  while (rest !== '') {
    const found = PARAMETER.exec(rest)
    if (found === null) return null
    const [whole, name = '', quoted, token] = found
    rest = rest.slice(whole.length)
    if (name.toLowerCase() !== 'boundary') continue
    if (boundary !== null) return null
    boundary = quoted ?? token ?? ''
  }
  return boundary !== null && BOUNDARY.test(boundary) ? boundary : null
}
