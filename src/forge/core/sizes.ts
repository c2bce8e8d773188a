const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** Returns a size for people, with three significant digits: `210 MiB`, `1.00 GiB`, `12.0 MiB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`
  let value = bytes
  let unit = -1
  // 999.5 would be 1000 of the smaller unit.
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1024
    unit += 1
  }
  return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${UNITS[unit]}`
}
