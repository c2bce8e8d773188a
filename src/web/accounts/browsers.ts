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

/** Returns the browser of a header `User-Agent` in words. The client chose the header. */
export function browserName(userAgent: string): string {
  const [, browser] = BROWSERS.find(([pattern]) => pattern.test(userAgent)) ?? []
  const [, system] = SYSTEMS.find(([pattern]) => pattern.test(userAgent)) ?? []
  if (browser !== undefined) return system === undefined ? browser : `${browser} on ${system}`
  const [program = ''] = userAgent.split(/[/\s]/)
  return program === '' ? 'A program without a name' : program
}
