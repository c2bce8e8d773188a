import { isUtf8 } from 'node:buffer'

/**
 * Paths in Git are bytes, paths in the API are text. A component in UTF-8 stays unchanged. Any
 * other component is quoted as Git does (git-config(1), core.quotePath): in quotation marks, with
 * octal escapes, such as `"caf\\351.txt"`.
 */

const SLASH = 0x2f

/** A component in quotation marks, as `textOfPath` writes it. */
const QUOTED = /^"((?:[^"\\]|\\[0-3][0-7]{2}|\\["\\])*)"$/

/** Returns the text of a Git path. */
export function textOfPath(path: Buffer): string {
  if (isUtf8(path)) return path.toString()
  const components: string[] = []
  for (let start = 0; start <= path.length; ) {
    const slash = path.indexOf(SLASH, start)
    const end = slash < 0 ? path.length : slash
    components.push(textOfComponent(path.subarray(start, end)))
    start = end + 1
  }
  return components.join('/')
}

function textOfComponent(component: Buffer): string {
  return isUtf8(component) ? component.toString() : quoted(component)
}

function quoted(component: Buffer): string {
  let text = ''
  for (const byte of component) {
    const character = String.fromCharCode(byte)
    if (character === '"' || character === '\\') text += `\\${character}`
    else if (byte >= 0x20 && byte < 0x7f) text += character
    else text += `\\${byte.toString(8).padStart(3, '0')}`
  }
  return `"${text}"`
}

/** Returns the bytes of a component that `textOfPath` has quoted, or undefined for any other. */
export function bytesOfQuoted(component: string): Buffer | undefined {
  const inner = QUOTED.exec(component)?.[1]
  if (inner === undefined) return undefined
  const latin1 = inner.replace(
    /\\(?:([0-3][0-7]{2})|(["\\]))/g,
    (_, octal: string | undefined, character: string) =>
      octal === undefined ? character : String.fromCharCode(Number.parseInt(octal, 8)),
  )
  return Buffer.from(latin1, 'latin1')
}
