/**
 * A text as it is compared where case and composition do not count: NFC and full case folding (Unicode 3.13), so that
 * `STRASSE` equals `straße`, and a sigma is one wherever it stands. Upper case first, because only that expands what
 * folds to several letters; the dotless i stays apart, as it does in Unicode's table.
 */
export function foldCase(text: string): string {
  // Most texts by far, and ten times as fast.
  if (/^[ -~]*$/.test(text)) return text.toLowerCase()
  return text
    .normalize('NFC')
    .replace(/[^ı]+/g, (part) => part.toUpperCase().toLowerCase().replaceAll('ς', 'σ'))
    .normalize('NFC')
}
