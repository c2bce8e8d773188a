/** Returns the bytes of a text in base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}

/** Returns bytes in base64. */
export function toBase64(bytes: Uint8Array): string {
  // In a loop, since the arguments of one call have a maximum number.
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

/** Returns the text of a file; undefined for a binary one, which Git recognises in the same way. */
export function textOf(bytes: Uint8Array): string | undefined {
  // buffer_is_binary in xdiff-interface.c of Git
  if (bytes.subarray(0, 8000).includes(0)) return undefined
  return new TextDecoder().decode(bytes)
}

/** Returns a number of bytes as the reader's locale writes it. */
export function sizeText(bytes: bigint | number): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const
  let [value, step] = [Number(bytes), 0]
  while (value >= 1000 && step < units.length - 1) [value, step] = [value / 1000, step + 1]
  const unitDisplay = step === 0 ? 'long' : 'short'
  const options = {
    style: 'unit',
    unit: units[step],
    unitDisplay,
    maximumFractionDigits: 1,
  } as const
  return new Intl.NumberFormat(undefined, options).format(value)
}
