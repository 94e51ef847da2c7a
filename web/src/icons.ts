import { svg } from './dom';

const PATHS = {
  mark: 'M2 4h12v3H2zM2 8.5h8v3H2zM2 13h4.5v2H2z',
  lock: 'M4 7V5a4 4 0 1 1 8 0v2h1v8H3V7zm2 0h4V5a2 2 0 1 0-4 0z',
  close: 'M3.3 2.3 8 7l4.7-4.7 1 1L9 8l4.7 4.7-1 1L8 9l-4.7 4.7-1-1L7 8 2.3 3.3z',
  sun: 'M8 4.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7ZM7.3 0h1.4v3H7.3zM7.3 13h1.4v3H7.3zM0 7.3h3v1.4H0zM13 7.3h3v1.4h-3zM2 3l1-1 2.1 2.1-1 1zM10.9 11.9l1-1L14 13l-1 1zM2 13l2.1-2.1 1 1L3 14zM10.9 4.1 13 2l1 1-2.1 2.1z',
  open: 'M7.3 1h1.4v6.3H15v1.4H8.7V15H7.3V8.7H1V7.3h6.3z',
  share: 'M8 1l4 4-1 1-2.3-2.3V10H7.3V3.7L5 6 4 5zM2 8h1.5v5.5h9V8H14v7H2z',
} as const;

export function icon(name: keyof typeof PATHS): SVGSVGElement {
  return svg('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true', width: 16, height: 16, fill: 'currentColor' }, svg('path', { d: PATHS[name] }));
}
