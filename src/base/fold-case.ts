/**
 * A text as it is compared where case makes no difference (RFC 7643 2.1, RFC 8265): NFC, and full case folding by way of
 * capital letters, which takes "ß" for "SS" and a final sigma for any other. The dotless "ı" stays a letter of its own,
 * although its capital is that of "i".
 */
export function foldCase(text: string): string {
  const letters = text.normalize('NFC').toLowerCase().split('ı')
  return letters
    .map((part) => part.toUpperCase())
    .join('ı')
    .normalize('NFC')
}
