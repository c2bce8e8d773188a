/** Longest `.gitmodules` that is read. */
export const MAX_GITMODULES_BYTES = 64 * 1024

const SECTION = /^\s*\[/
const VARIABLE = /^\s*(path|url)\s*=\s*(.*?)\s*$/i
const QUOTED = /^"((?:[^"\\]|\\.)*)"$/

/**
 * Returns the URLs of submodules by path, from the text of `.gitmodules` (gitmodules(5)). Lines
 * that Git would not write are ignored.
 */
export function parseSubmodules(text: string): ReadonlyMap<string, string> {
  const urls = new Map<string, string>()
  let section: { path?: string; url?: string } = {}
  for (const line of text.split('\n')) {
    if (SECTION.test(line)) section = {}
    const [, key = '', value = ''] = VARIABLE.exec(line) ?? []
    if (key === '') continue
    section[key.toLowerCase() === 'path' ? 'path' : 'url'] = unquoted(value)
    if (section.path !== undefined && section.url !== undefined) urls.set(section.path, section.url)
  }
  return urls
}

function unquoted(value: string): string {
  return QUOTED.exec(value)?.[1]?.replace(/\\(.)/g, '$1') ?? value
}
