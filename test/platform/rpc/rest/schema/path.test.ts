import { describe, expect, it } from 'vitest'
import {
  mergeSlashes,
  pathOf,
  SegmentedPath,
} from '../../../../../src/platform/rpc/rest/schema/tree.ts'

describe('pathOf', () => {
  it.each([
    ['/a/b', '/a/b'],
    ['/a?b=/c?d', '/a'],
    ['/?', '/'],
    ['http://host/a?b', '/a'],
    ['https://user@host:8443', '/'], // RFC 9112 3.2.2: an empty path is the root
    ['http://host?x=/a', '/'], // the slash belongs to the query
    ['h2+x.y-z://host//a', '//a'],
    ['/http://x', '/http://x'],
    ['//host/a', '//host/a'], // no authority: a target in origin form starts with the path
    ['*', undefined],
    ['host:443', undefined],
    ['a/b', undefined],
    ['1x://host/a', undefined],
    ['://host/a', undefined],
    ['', undefined],
  ])('of %j is %j', (target, path) => {
    expect(pathOf(target)).toBe(path)
  })
})

describe('mergeSlashes', () => {
  it.each([
    ['/a/b', '/a/b'],
    ['//a///b//', '/a/b'],
    ['/', '/'],
    ['///', '/'],
    ['/%2F/', '/%2F'], // an escaped slash separates nothing
  ])('makes %s %s', (path, merged) => {
    expect(mergeSlashes(path)).toBe(merged)
  })
})

describe('SegmentedPath', () => {
  it.each<[string, string[], boolean]>([
    ['/', [], false], // the slash of the root is not a trailing one
    ['/a', ['a'], false],
    ['/a/', ['a'], true],
    ['//', [''], true],
    ['//a', ['', 'a'], false],
    ['/a//b', ['a', '', 'b'], false],
  ])('cuts %s', (text, segments, trailingSlash) => {
    const path = new SegmentedPath(text)
    expect(Array.from({ length: path.count }, (_, i) => path.raw(i))).toEqual(segments)
    expect(path.trailingSlash).toBe(trailingSlash)
    expect(path.rawRange(0, path.count)).toBe(segments.join('/'))
  })

  it('splits before it decodes', () => {
    const path = new SegmentedPath('/a%2Fb/%zz/c')
    expect(path.count).toBe(3)
    expect([path.text(0), path.text(1), path.text(2)]).toEqual(['a/b', undefined, 'c'])
    expect(path.malformedAt()).toBe(1)
    expect(path.rawRange(0, 2)).toBe('a%2Fb/%zz')
  })

  it('knows whether all segments after an index are non-empty', () => {
    const path = new SegmentedPath('/a//b')
    expect([0, 1, 2, 3].map((index) => path.nonEmptyFrom(index))).toEqual([
      false,
      false,
      true,
      false,
    ])
    expect(new SegmentedPath('/a/').nonEmptyFrom(0)).toBe(false)
  })
})
