/**
 * A text as it is compared where case and composition do not count: NFC and full case folding (Unicode 3.13), so that
 * `STRASSE` equals `straße`, and a sigma is one wherever it stands. By way of upper case, because only that expands what
 * folds to several letters, and of lower case before it, because the capital `ẞ` has no other; the dotless i stays apart, as it does in Unicode's table.
 */
export function foldCase(text: string): string {
  // Most texts by far, and ten times as fast.
  if (/^[ -~]*$/.test(text)) return text.toLowerCase()
  return text
    .normalize('NFC')
    .replace(/[^\u0131]+/g, (part) => part.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ'))
    .normalize('NFC')
}
