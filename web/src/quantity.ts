// Numbers for people, as the command writes them.

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

/** Bytes: exact below 1 KiB, else with one decimal. */
export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  let value = n;
  let unit = -1;
  do {
    value /= 1024;
    unit += 1;
  } while (value >= 1024 && unit < UNITS.length - 1);
  return `${value.toFixed(1)} ${UNITS[unit]}`;
}

/** A number with its thousands apart. */
export function number(n: number): string {
  return n.toLocaleString('en');
}

export function count(n: number, one: string, many: string): string {
  return `${number(n)} ${n === 1 ? one : many}`;
}

/** A share of a whole, in per cent. */
export function share(part: number, whole: number): string {
  if (whole === 0) return '0 %';
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 1) return '< 1 %';
  if (percent > 99 && percent < 100) return '> 99 %';
  return `${Math.round(percent)} %`;
}
