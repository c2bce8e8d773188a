/** The first one that fits counts: most browsers also name those that they descend from. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:HeadlessChrome|Chromium|Chrome|CriOS)\//, 'Chrome'],
  [/\bVersion\/\S+ .*\bSafari\//, 'Safari'],
]

/** Phones also name the systems that theirs descend from. */
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\bAndroid\b/, 'Android'],
  [/\b(?:iPhone|iPad|iPod)\b/, 'iOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

/** A program and its system. Both are empty where they are not known. */
interface Client {
  readonly program: string
  readonly system: string
}

/** Returns what a header `User-Agent` says. The client chose the header. */
export function clientOf(userAgent: string): Client {
  const [, browser] = BROWSERS.find(([pattern]) => pattern.test(userAgent)) ?? []
  const [, system = ''] = SYSTEMS.find(([pattern]) => pattern.test(userAgent)) ?? []
  if (browser !== undefined) return { program: browser, system }
  const [program = ''] = userAgent.split(/[/\s]/)
  return { program, system: '' }
}
