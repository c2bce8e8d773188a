import { describe, expect, it } from 'vitest'
import {
  Admission,
  isLoopback,
  peerNetwork,
} from '../../../../src/platform/http/listener/admission.ts'

function connection(name: string, options: { peer?: string; busy?: boolean } = {}) {
  return {
    name,
    peer: options.peer,
    busy: options.busy ?? false,
    evicted: false,
    isBusy() {
      return this.busy
    },
    evict() {
      this.evicted = true
    },
  }
}

type Fake = ReturnType<typeof connection>
const names = (admission: Admission<Fake>) => [...admission].map(({ name }) => name).sort()

describe('Admission', () => {
  it('evicts the oldest idle connection for a newcomer', () => {
    const admission = new Admission<Fake>(3, 3)
    const all = [connection('a', { busy: true }), connection('b'), connection('c'), connection('d')]
    expect(all.map((one) => admission.admit(one))).toEqual([true, true, true, true])
    expect(all.map(({ evicted }) => evicted)).toEqual([false, true, false, false])
    expect(names(admission)).toEqual(['a', 'c', 'd'])
  })

  it('refuses the newcomer when every connection is busy', () => {
    const admission = new Admission<Fake>(2, 2)
    admission.admit(connection('a', { busy: true }))
    admission.admit(connection('b', { busy: true }))
    expect(admission.admit(connection('c'))).toBe(false)
    expect(names(admission)).toEqual(['a', 'b'])
  })

  it('limits a peer to its share by evicting its own connections', () => {
    const admission = new Admission<Fake>(10, 2)
    const other = connection('other', { peer: 'q' })
    admission.admit(other)
    const first = connection('a', { peer: 'p' })
    for (const one of [first, connection('b', { peer: 'p' }), connection('c', { peer: 'p' })])
      admission.admit(one)
    expect(first.evicted).toBe(true)
    expect(other.evicted).toBe(false)
    expect(names(admission)).toEqual(['b', 'c', 'other'])
  })

  it('does not count connections without a peer against each other', () => {
    const admission = new Admission<Fake>(10, 1)
    expect([connection('a'), connection('b')].map((one) => admission.admit(one))).toEqual([
      true,
      true,
    ])
    expect(admission.size).toBe(2)
  })

  it('finds an idle connection behind any number of busy ones, in a few steps per newcomer', () => {
    const admission = new Admission<Fake>(1000, 1000)
    for (let i = 0; i < 999; i++) admission.admit(connection(`busy ${i}`, { busy: true }))
    const idle = connection('idle')
    admission.admit(idle)
    let looks = 0
    for (const one of admission) {
      one.isBusy = () => {
        looks += 1
        return one.busy
      }
    }
    expect(admission.admit(connection('refused'))).toBe(false)
    expect(looks).toBeLessThan(100)
    for (let i = 0; i < 100 && !idle.evicted; i++)
      admission.admit(connection('newcomer', { busy: true }))
    expect(idle.evicted).toBe(true)
  })

  it('releases the slot of a removed connection once', () => {
    const admission = new Admission<Fake>(1, 1)
    const first = connection('a', { peer: 'p', busy: true })
    admission.admit(first)
    admission.remove(first)
    admission.remove(first)
    expect(admission.admit(connection('b', { peer: 'p' }))).toBe(true)
  })
})

describe('peerNetwork', () => {
  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'], // an IPv4 peer of a dual-stack socket
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::1', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['2001:db8::', '2001:db8:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
  ])('of %s is %s', (address, expected) => {
    expect(peerNetwork(address)).toBe(expected)
  })
})

describe('isLoopback', () => {
  it.each([
    ['127.0.0.1', true],
    ['127.8.8.8', true], // all of 127/8 is loopback
    ['::ffff:127.0.0.1', true],
    ['::1', true],
    ['128.0.0.1', false],
    ['::127', false],
  ])('of %s is %s', (address, expected) => {
    expect(isLoopback(address)).toBe(expected)
  })
})
