/**
 * Returns black or white: the one that is easier to read on a colour. One of both has a contrast of
 * at least 4.5 to 1 on each colour. The formula is the relative luminance of WCAG 2.2.
 *
 * @param colour six hexadecimal digits.
 */
export function textColourOn(colour: string): '#000' | '#fff' {
  const [red = 0, green = 0, blue = 0] = [0, 2, 4].map((start) => {
    const part = Number.parseInt(colour.slice(start, start + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  // At this luminance, black and white have the same contrast.
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? '#000' : '#fff'
}
